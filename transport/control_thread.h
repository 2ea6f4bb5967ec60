// ControlThread: the one thread of a process that accepts, shakes hands, passes descriptors and
// watches peers. It never runs user code and never touches data. Handlers run on it one at a time
// and must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "src/base/clock.h"
#include "src/base/fd.h"
#include "src/base/status.h"

namespace hccl::transport {

class ControlThread {
 public:
  using Task = std::function<void()>;
  using Events = std::function<void(uint32_t events)>;  // EPOLL* bits

  // Starts the thread on first use. HCCL_E_UNAVAIL in a forked child.
  static Result<ControlThread*> instance();

  bool isCurrent() const { return std::this_thread::get_id() == thread_.get_id(); }

  // Any thread: runs `task` soon / now (returns when it ran). In a forked child nothing runs.
  void post(Task task);
  void run(const Task& task);

  // The rest belongs to the control thread itself. Ids are never used twice, so a late event of a
  // closed descriptor finds nobody.
  uint64_t watch(int fd, uint32_t events, Events handler);
  void rearm(uint64_t id, uint32_t events);
  void unwatch(uint64_t id);
  uint64_t at(Deadline when, Task task);
  void cancel(uint64_t timer);

 private:
  ControlThread() = default;
  Status start();
  void loop();
  void runPosted();
  void runTimers();
  Deadline nextTimer() const;

  struct Watched {
    int fd;
    Events handler;
  };
  std::thread thread_;
  UniqueFd epoll_, wake_;
  std::mutex mutex_;
  std::vector<Task> posted_;  // guarded by mutex_
  uint64_t nextId_ = 1;
  std::unordered_map<uint64_t, std::shared_ptr<Watched>> watched_;
  std::map<std::pair<uint64_t, uint64_t>, Task> timers_;  // (time, id)
  std::unordered_map<uint64_t, uint64_t> timerTimes_;     // id -> time
};

// Descriptors of this folder that a forked child must close, because a child that holds a socket
// keeps the peer from seeing this process' end.
void closeInForkedChild(int fd);
void forgetForkedChildFd(int fd);

// A UniqueFd that is closed in forked children.
class GuardedFd {
 public:
  GuardedFd() = default;
  explicit GuardedFd(UniqueFd fd) : fd_(std::move(fd)) {
    if (fd_) closeInForkedChild(fd_.get());
  }
  GuardedFd(GuardedFd&&) = default;
  GuardedFd& operator=(GuardedFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::move(other.fd_);
    }
    return *this;
  }
  ~GuardedFd() { reset(); }
  int get() const { return fd_.get(); }
  explicit operator bool() const { return fd_.isValid(); }
  void reset();
  UniqueFd release();

 private:
  UniqueFd fd_;
};

}  // namespace hccl::transport
