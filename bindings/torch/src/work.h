// What an operation returns to PyTorch: something to wait for, to ask, and to hang callbacks on.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "communicator.h"
#include "runtime.h"
#include "torch_api.h"

namespace hccl_torch {

class Completer;

// A moment at which a wait gives up, or never.
class Deadline {
 public:
  Deadline() = default;
  explicit Deadline(std::chrono::milliseconds fromNow)
      : never_(false), at_(std::chrono::steady_clock::now() + fromNow) {}

  bool isNever() const { return never_; }
  std::chrono::steady_clock::time_point at() const { return at_; }
  bool expired() const { return !never_ && std::chrono::steady_clock::now() >= at_; }
  // For the acl functions: milliseconds, at least 1, or -1 for never.
  int32_t milliseconds() const;

 private:
  bool never_ = true;
  std::chrono::steady_clock::time_point at_;
};

// The common part: results, the last step that the operation's end needs, futures.
class HcclWork : public c10d::Work {
 public:
  using LastStep = std::function<void()>;

  struct Facts {
    int rank;
    c10d::OpType type;
    const char* title;
    Tensors inputs;   // for the profiler
    Tensors outputs;  // what the future holds
    Deadline deadline;
  };

  explicit HcclWork(Facts facts);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  Tensors result() override { return outputs_; }
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void abort() override { TORCH_CHECK(false, "hccl: an operation cannot be aborted"); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

  bool isDone() const { return done_.load(std::memory_order_acquire); }
  // Runs, once, when the operation has succeeded: copies results to where they belong.
  void setLastStep(LastStep step) { lastStep_ = std::move(step); }
  // Keeps memory alive until the operation has ended.
  void keep(std::shared_ptr<void> memory) { kept_.push_back(std::move(memory)); }
  void keep(const Tensors& tensors) {
    keptTensors_.insert(keptTensors_.end(), tensors.begin(), tensors.end());
  }
  // Waits until the operation has ended, or the deadline; tells whether it has ended.
  virtual bool settle(const Deadline& deadline) = 0;

 protected:
  // Ends the operation; called exactly once.
  void complete(std::exception_ptr error);
  // Looks without waiting, and completes what has ended.
  virtual void poll() {}
  // Somebody waits for the future only: makes sure that complete() is called all the same.
  virtual void completeByItself() {}

 private:
  void fulfil(c10::ivalue::Future& future);

  std::atomic<bool> done_{false};
  Tensors outputs_;
  const Deadline deadline_;
  const char* const title_;
  LastStep lastStep_;
  std::vector<std::shared_ptr<void>> kept_;
  Tensors keptTensors_;
  std::mutex futureMutex_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// An operation that has a stream for itself.
class StreamWork : public HcclWork {
 public:
  // Who ends the work when only its future is waited for: a thread that waits for one work after
  // the other (for collectives, which end in order), or the same thread once the stream is through.
  struct CompletedBy {
    std::shared_ptr<Completer> thread;
    bool waitsInOrder;
  };

  StreamWork(const Facts& facts, std::shared_ptr<Communicator> communicator, CompletedBy completer);
  ~StreamWork() override;

  // Runs calls(handle, stream), which enqueue the operation. An error of theirs is thrown.
  template <class Calls>
  void start(Calls calls) {
    stream_ = StreamPool::instance().acquire();
    communicator_->use([&](HcclComm handle) { calls(handle, stream_); });
  }
  bool settle(const Deadline& deadline) override;

 protected:
  void poll() override;
  void completeByItself() override;

 private:
  void end(int code);

  const std::shared_ptr<Communicator> communicator_;
  const CompletedBy completer_;
  const char* const title_;
  aclrtStream stream_ = nullptr;
  std::timed_mutex settling_;
};

}  // namespace hccl_torch
