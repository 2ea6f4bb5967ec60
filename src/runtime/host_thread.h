// HostThread: runs the host functions and callbacks of one stream, in order, on a thread that is
// made for the first of them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/runtime/thread.h"

namespace hccl::runtime {

// One call of a function of the program. Shared by the stream's task and by the thread that runs
// it.
struct HostCall {
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
  std::atomic<bool> done{false};
  std::atomic<bool> dropped{false};  // the stream threw the task away: do not call
  std::atomic<uint32_t> references{1};
  HostCall* next = nullptr;

  void release() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // Calls, marks it done, wakes the engine and gives up one reference.
  void run();
};

class HostThread {
 public:
  // Appends a call and takes over one reference of it. The thread is called "hccl-host-<number>".
  Status submit(HostCall* call, uint32_t number);
  // Ends the thread after the calls it holds. Waits until the deadline for a call in progress, then
  // leaves the thread to itself (false).
  bool stop(Deadline deadline);
  // True once the thread holds no call; false at the deadline.
  bool waitIdle(Deadline deadline);
  // Ends and joins the thread if it is not inside a call (at exit).
  void stopIfIdle();
  bool isCurrent() const;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    HostCall* first = nullptr;
    HostCall* last = nullptr;
    bool inCall = false;
    bool stopping = false;
    bool ended = false;
  };
  static void loop(const HostThread* owner, const std::shared_ptr<State>& state);

  std::mutex mutex_;  // guards state_ and thread_
  std::shared_ptr<State> state_;
  Thread thread_;
};

}  // namespace hccl::runtime
