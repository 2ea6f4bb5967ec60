#include "transport/control_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <utility>

#include "src/base/system_error.h"
#include "src/runtime/engine.h"

namespace hccl::transport {
namespace {

constexpr size_t kMaxGuarded = 1 << 16;
std::array<std::atomic<uint64_t>, kMaxGuarded / 64> guarded;

// Runs in the child of fork(): only async-signal-safe calls.
void closeGuarded() {
  for (size_t word = 0; word < guarded.size(); ++word) {
    uint64_t bits = guarded[word].exchange(0, std::memory_order_relaxed);
    while (bits != 0) {
      const int bit = __builtin_ctzll(bits);
      bits &= bits - 1;
      ::close(static_cast<int>(word * 64 + static_cast<size_t>(bit)));
    }
  }
}

}  // namespace

void closeInForkedChild(int fd) {
  static const bool registered = pthread_atfork(nullptr, nullptr, closeGuarded) == 0;
  const auto index = static_cast<size_t>(fd);
  if (!registered || fd < 0 || index >= kMaxGuarded) return;
  guarded[index / 64].fetch_or(1ULL << (index % 64), std::memory_order_relaxed);
}

void forgetForkedChildFd(int fd) {
  const auto index = static_cast<size_t>(fd);
  if (fd < 0 || index >= kMaxGuarded) return;
  guarded[index / 64].fetch_and(~(1ULL << (index % 64)), std::memory_order_relaxed);
}

void GuardedFd::reset() {
  if (!fd_) return;
  if (runtime::isForkedChild()) {
    (void)fd_.release();  // closed by the fork handler; the number may be the child's own by now
    return;
  }
  forgetForkedChildFd(fd_.get());
  fd_.reset();
}

UniqueFd GuardedFd::release() {
  forgetForkedChildFd(fd_.get());
  return std::move(fd_);
}

Result<ControlThread*> ControlThread::instance() {
  if (runtime::isForkedChild()) {
    return Status(HCCL_E_UNAVAIL, "the library cannot be used in a forked child process");
  }
  static std::mutex mutex;
  // Never destroyed: exit() may run while it works.
  static ControlThread* thread = nullptr;
  std::lock_guard lock(mutex);
  if (thread == nullptr) {
    auto made = std::unique_ptr<ControlThread>(new ControlThread());
    HCCL_RETURN_IF_ERROR(made->start());
    thread = made.release();
  }
  return thread;
}

Status ControlThread::start() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !wake_) {
    return systemCallError("the control thread's epoll set and eventfd", errno);
  }
  closeInForkedChild(epoll_.get());
  closeInForkedChild(wake_.get());
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {
    return systemCallError("epoll_ctl", errno);
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status status;
  try {
    thread_ = std::thread([this] { loop(); });
    pthread_setname_np(thread_.native_handle(), "hccl_control");
  } catch (const std::system_error& error) {
    status = threadStartError("the control thread", error.code().value());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

void ControlThread::post(Task task) {
  if (runtime::isForkedChild()) return;
  {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
  }
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

void ControlThread::run(const Task& task) {
  if (runtime::isForkedChild()) return;
  if (isCurrent()) return task();
  std::mutex mutex;
  std::condition_variable ran;
  bool done = false;
  post([&] {
    task();
    std::lock_guard lock(mutex);
    done = true;
    ran.notify_one();
  });
  std::unique_lock lock(mutex);
  ran.wait(lock, [&] { return done; });
}

uint64_t ControlThread::watch(int fd, uint32_t events, Events handler) {
  const uint64_t id = nextId_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return 0;
  watched_.emplace(id, std::make_shared<Watched>(Watched{fd, std::move(handler)}));
  return id;
}

void ControlThread::rearm(uint64_t id, uint32_t events) {
  const auto it = watched_.find(id);
  if (it == watched_.end()) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, it->second->fd, &event);
}

void ControlThread::unwatch(uint64_t id) {
  const auto it = watched_.find(id);
  if (it == watched_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, it->second->fd, nullptr);
  watched_.erase(it);
}

uint64_t ControlThread::at(Deadline when, Task task) {
  const uint64_t id = nextId_++;
  timers_.emplace(std::make_pair(when.ns(), id), std::move(task));
  timerTimes_.emplace(id, when.ns());
  return id;
}

void ControlThread::cancel(uint64_t timer) {
  const auto it = timerTimes_.find(timer);
  if (it == timerTimes_.end()) return;
  timers_.erase({it->second, timer});
  timerTimes_.erase(it);
}

void ControlThread::runPosted() {
  std::vector<Task> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (auto& task : tasks) task();
}

void ControlThread::runTimers() {
  const uint64_t now = monotonicNs();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto node = timers_.extract(timers_.begin());
    timerTimes_.erase(node.key().second);
    node.mapped()();
  }
}

Deadline ControlThread::nextTimer() const {
  return timers_.empty() ? Deadline::never() : Deadline::atNs(timers_.begin()->first.first);
}

void ControlThread::loop() {
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   nextTimer().remainingMs());
    for (int i = 0; i < count; ++i) {
      const uint64_t id = events[static_cast<size_t>(i)].data.u64;
      if (id == 0) {
        uint64_t drained;
        (void)!::read(wake_.get(), &drained, sizeof drained);
        continue;
      }
      const auto it = watched_.find(id);
      if (it == watched_.end()) continue;
      const auto alive = it->second;  // the handler may unwatch itself
      alive->handler(events[static_cast<size_t>(i)].events);
    }
    runPosted();
    runTimers();
  }
}

}  // namespace hccl::transport
