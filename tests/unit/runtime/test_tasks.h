// Tasks for the tests of streams and of the engine.
#pragma once

#include <atomic>
#include <functional>

#include "src/runtime/stream.h"
#include "src/runtime/stream_impl.h"
#include "src/runtime/task.h"

namespace hccl::runtime::testing {

// Calls `step` until it returns kDone, then deletes itself at retire().
class FunctionTask : public Task {
 public:
  explicit FunctionTask(std::function<Poll()> step, Status status = Status(),
                        std::atomic<int>* retired = nullptr)
      : step_(std::move(step)), status_(std::move(status)), retired_(retired) {}
  Poll advance() noexcept override { return step_(); }
  Status status() const override { return status_; }
  void retire() noexcept override {
    if (retired_ != nullptr) retired_->fetch_add(1);
    delete this;
  }

 private:
  std::function<Poll()> step_;
  Status status_;
  std::atomic<int>* retired_;
};

// A stream of device 0 that is destroyed at the end of the scope.
class ScopedStream {
 public:
  ScopedStream() : handle_(*createStream(0, 0, 0)) {}
  ~ScopedStream() {
    if (handle_ != nullptr) (void)destroyStream(handle_, false);
  }
  ScopedStream(const ScopedStream&) = delete;
  ScopedStream& operator=(const ScopedStream&) = delete;
  Stream* get() const { return findStream(handle_); }
  void* handle() const { return handle_; }
  void* release() { return std::exchange(handle_, nullptr); }

 private:
  void* handle_;
};

inline void add(Stream* stream, std::function<Poll()> step, Status status = Status(),
                std::atomic<int>* retired = nullptr) {
  Status sent = enqueue(stream, new FunctionTask(std::move(step), std::move(status), retired));
  if (!sent.isOk()) std::abort();
}

}  // namespace hccl::runtime::testing
