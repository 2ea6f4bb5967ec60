// The engine's life: descriptors, threads, the tick, the doorbell, shutdown; and the contract of
// engine.h.
#include "src/runtime/engine.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "src/base/env.h"
#include "src/base/log.h"
#include "src/base/system_error.h"
#include "src/runtime/engine_core.h"
#include "src/runtime/futex.h"
#include "src/runtime/process_state.h"

namespace hccl::runtime {
namespace {

constexpr long kTickNs = 1'000'000;
constexpr size_t kPage = 4096;

}  // namespace

EngineCore& EngineCore::instance() {
  static EngineCore* core =
      new EngineCore;  // never destroyed: threads of the program may outlive main
  return *core;
}

Status EngineCore::open() {
  epollFd_.reset(::epoll_create1(EPOLL_CLOEXEC));
  eventFd_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  timerFd_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  pageFd_.reset(::memfd_create("hccl-doorbell", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!epollFd_ || !eventFd_ || !timerFd_ || !pageFd_)
    return systemCallError("opening the engine", errno);
  if (::ftruncate(pageFd_.get(), kPage) != 0) return systemCallError("ftruncate", errno);
  ::fcntl(pageFd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void* page =
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, pageFd_.get(), 0);
  if (page == MAP_FAILED) return systemCallError("mmap of the doorbell page", errno);
  ::madvise(page, kPage, MADV_DONTFORK);
  ::madvise(page, kPage, MADV_DONTDUMP);
  sleepersWord_ = new (page) std::atomic<uint32_t>(0);
  // Edge triggered: every ring is a new event, so nobody has to read the counter.
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  if (::epoll_ctl(epollFd_.get(), EPOLL_CTL_ADD, eventFd_.get(), &event) != 0) {
    return systemCallError("epoll_ctl", errno);
  }
  for (const UniqueFd* fd : {&epollFd_, &eventFd_, &timerFd_, &pageFd_}) {
    closeInForkedChild(fd->get());
  }
  return Status::ok();
}

Status EngineCore::startSlowly() {
  std::lock_guard lock(lifeMutex_);
  if (startTried_) return startStatus_;
  HCCL_RETURN_IF_ERROR(usableStatus());
  startTried_ = true;
  startStatus_ = open();
  if (auto env = environment(); env.isOk()) workers_ = std::max(1U, (*env)->hostWorkers);
  for (uint32_t i = 0; startStatus_.isOk() && i < workers_; ++i) {
    auto thread = Thread::start(fmt::format("hccl-progress-{}", i),
                                [this, i] { i == 0 ? workerLoop() : extraWorkerLoop(); });
    if (thread.isOk()) {
      threads_.push_back(std::move(*thread));
    } else {
      startStatus_ = thread.status();
    }
  }
  if (!startStatus_.isOk()) {
    HCCL_ERROR("the runtime's engine could not start: {}", startStatus_.text());
    return startStatus_;
  }
  std::atexit([] { EngineCore::instance().shutdown(); });
  started_.store(true, std::memory_order_release);
  return startStatus_;
}

void EngineCore::shutdown() {
  ProcessState running = ProcessState::kRunning;
  if (!processState.compare_exchange_strong(running, ProcessState::kShutdown)) return;
  std::lock_guard lock(lifeMutex_);
  stop_.store(true, std::memory_order_seq_cst);
  if (!started_.load()) return;
  itimerspec soon{};
  soon.it_value.tv_nsec = 1;
  ::timerfd_settime(timerFd_.get(), 0, &soon, nullptr);
  ring();
  wakeExtraWorkers();
  for (Thread& thread : threads_) {
    if (!thread.isCurrent()) thread.join();
  }
  StreamTable& table = streamTable();
  for (uint32_t i = 0; i < table.count(); ++i) table.at(i)->hostThread().stopIfIdle();
}

void EngineCore::armTick() {
  if (tickArmed_.exchange(1, std::memory_order_seq_cst) != 0) return;
  itimerspec once{};
  once.it_value.tv_nsec = kTickNs;
  ::timerfd_settime(timerFd_.get(), 0, &once, nullptr);
  ticksArmed_.fetch_add(1, std::memory_order_relaxed);
}

void EngineCore::ring() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(eventFd_.get(), &one, sizeof(one));
  rings_.fetch_add(1, std::memory_order_relaxed);
}

void EngineCore::ringIfAsleep() {
  if (sleepersWord_->load(std::memory_order_seq_cst) != 0 &&
      sleepersWord_->exchange(0, std::memory_order_seq_cst) != 0) {
    ring();
  }
}

// ---- the contract of engine.h ----

Engine& Engine::instance() {
  static Engine engine;
  return engine;
}

Result<Doorbell> Engine::doorbell() {
  EngineCore& core = EngineCore::instance();
  HCCL_RETURN_IF_ERROR(usableStatus());
  HCCL_RETURN_IF_ERROR(core.start());
  return core.doorbell();
}

Result<int> Engine::wakeSet() {
  EngineCore& core = EngineCore::instance();
  HCCL_RETURN_IF_ERROR(usableStatus());
  HCCL_RETURN_IF_ERROR(core.start());
  return core.wakeSet();
}

void Engine::wake() {
  EngineCore& core = EngineCore::instance();
  if (isForkedChild() || !core.isStarted()) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  core.ringIfAsleep();
  core.notifyWaiters();
}

bool Engine::helpUntil(const std::function<bool()>& done, Deadline deadline) {
  if (done()) return true;
  if (!isUsable()) return false;
  return EngineCore::instance().help(nullptr, 0, &done, deadline);
}

void Engine::addPoller(Poller* poller) {
  EngineCore& core = EngineCore::instance();
  if (!isUsable() || !core.start().isOk()) return;
  if (!core.pollers().add(poller)) {
    HCCL_ERROR("more than {} pollers: one is not polled", Pollers::kMax);
    return;
  }
  core.noteWork();
}

void Engine::removePoller(Poller* poller) {
  if (!isForkedChild()) EngineCore::instance().pollers().remove(poller);
}

void Engine::shutdown() {
  EngineCore::instance().shutdown();
}

}  // namespace hccl::runtime
