// Thread: a named thread of the library. It blocks all signals, so that the program's handlers run
// on the program's threads.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "src/base/status.h"

namespace hccl::runtime {

class Thread {
 public:
  Thread() = default;
  // `name` has at most 15 characters.
  static Result<Thread> start(const std::string& name, std::function<void()> body);

  Thread(Thread&&) = default;
  Thread& operator=(Thread&& other) noexcept {
    join();
    thread_ = std::move(other.thread_);
    return *this;
  }
  ~Thread() { join(); }

  bool isRunning() const { return thread_.joinable(); }
  bool isCurrent() const { return thread_.get_id() == std::this_thread::get_id(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  // Lets the thread go on without owner: only for one that is stuck in the program's code.
  void abandon() {
    if (thread_.joinable()) thread_.detach();
  }

 private:
  std::thread thread_;
};

}  // namespace hccl::runtime
