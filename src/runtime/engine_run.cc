// How threads advance the streams, wait and sleep: see the rules in engine_core.h.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "src/runtime/engine_core.h"
#include "src/runtime/float_guard.h"
#include "src/runtime/futex.h"

namespace hccl::runtime {
namespace {

constexpr int kOwnSteps = 64;
constexpr int kOtherSteps = 8;
// Tasks may have deadlines of their own that only their advance() knows.
constexpr uint64_t kLongestSleepNs = 20'000'000;
constexpr uint64_t kLongestParkNs = 100'000'000;
// A queue longer than this leaves the caches: it is cheaper to wait a microsecond for it.
constexpr uint64_t kAssistBacklog = 32;
constexpr int kAssistPolls = 32;
constexpr int kAssistYields = 4;
constexpr uint32_t kRoundsBetweenFullScans = 64;
constexpr uint32_t kRoundsBetweenClocks = 64;

}  // namespace

EngineCore::Scan EngineCore::scan(Stream* own, bool all) {
  Scan result;
  StreamTable& table = streamTable();
  for (uint32_t i = 0, words = activeStreams.words(); i < words; ++i) {
    for (uint64_t bits = activeStreams.word(i); bits != 0; bits &= bits - 1) {
      Stream* stream = table.at(i * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
      if (!all && (stream == own || stream->owners.load(std::memory_order_relaxed) != 0)) continue;
      switch (stream->advance(kOtherSteps)) {
        case Stream::Advance::kMoved:
          ++result.moved;
          break;
        case Stream::Advance::kBusy:
          result.busy = true;
          break;
        case Stream::Advance::kNothing:
          break;
      }
    }
  }
  if (pollers_.poll(&result.busy)) ++result.moved;
  return result;
}

void EngineCore::enter(Stream* own) {
  scanners_.fetch_add(1, std::memory_order_seq_cst);
  if (own != nullptr) own->owners.fetch_add(1, std::memory_order_relaxed);
}

uint32_t EngineCore::stopScanning(Stream* own) {
  if (own != nullptr) own->owners.fetch_sub(1, std::memory_order_relaxed);
  return scanners_.fetch_sub(1, std::memory_order_seq_cst) - 1;
}

// Whoever pushed while this thread scanned relied on it: see to it that somebody else looks.
void EngineCore::leave(Stream* own, bool worker) {
  if (stopScanning(own) != 0) return;  // the other scanners look
  const bool roleFree = role_.load(std::memory_order_seq_cst) == Role::kFree;
  if (roleFree && parking_.parked() != 0) {
    parking_.unparkOne();
    return;
  }
  if (activeStreams.isEmpty()) {
    // Pollers have to be watched by a worker, which does so when it waits for the next tick.
    if (worker || pollers_.count() == 0 || role_.load() == Role::kWorker) return;
  } else if (worker && !roleFree) {
    // A helper sleeps with everything looked at but what came since.
    const Scan last = scan(nullptr, true);
    if (last.moved == 0 && !last.busy) return;
  }
  if (tickArmed_.load(std::memory_order_seq_cst) == 0) armTick();
}

// epoll_wait, and for a worker also the tick. True when something came.
bool EngineCore::waitForEvents(bool worker, uint64_t untilNs) {
  epoll_event events[16];
  const int timeout = Deadline::atNs(untilNs).remainingMs();
  if (!worker) {
    return epoll_wait(epollFd_.get(), events, 16, timeout) > 0;
  }
  pollfd fds[2] = {{timerFd_.get(), POLLIN, 0}, {epollFd_.get(), POLLIN, 0}};
  if (::poll(fds, 2, timeout) <= 0) return false;
  if (fds[0].revents != 0) takeTick();
  if (fds[1].revents != 0) epoll_wait(epollFd_.get(), events, 16, 0);
  return true;
}

void EngineCore::takeTick() {
  uint64_t expirations = 0;
  [[maybe_unused]] const ssize_t n = ::read(timerFd_.get(), &expirations, sizeof(expirations));
}

// The caller holds the role.
EngineCore::Slept EngineCore::sleepInEpoll(const Goal& goal, uint64_t untilNs, bool worker) {
  Sleeper self;
  self.stream = goal.own;
  self.target = goal.target;
  self.inEpoll = true;
  sleepersWord_->store(1, std::memory_order_seq_cst);
  parking_.add(&self);
  stopScanning(goal.own);
  bool awake = goal.isReached();
  if (!awake) {
    const Scan last = scan(goal.own, true);
    awake = last.moved != 0 || last.busy || goal.isReached();
  }
  Slept slept = Slept::kNot;
  if (!awake && self.woken.load(std::memory_order_seq_cst) == 0) {
    slept = waitForEvents(worker, untilNs) ? Slept::kWoken : Slept::kTimedOut;
  }
  enter(goal.own);
  if (worker) tickArmed_.store(0, std::memory_order_seq_cst);
  parking_.remove(&self);
  sleepersWord_->store(0, std::memory_order_seq_cst);
  role_.store(Role::kFree, std::memory_order_seq_cst);
  return slept;
}

EngineCore::Slept EngineCore::park(const Goal& goal, uint64_t untilNs) {
  Sleeper self;
  self.stream = goal.own;
  self.target = goal.target;
  parking_.add(&self);
  stopScanning(goal.own);
  bool awake = goal.isReached() || role_.load(std::memory_order_seq_cst) == Role::kFree;
  if (!awake) {
    const Scan last = scan(goal.own, true);
    awake = last.moved != 0 || last.busy || goal.isReached();
  }
  if (!awake) {
    // A worker steps back for a helper, which saves the second wake-up.
    if (role_.load(std::memory_order_seq_cst) == Role::kWorker) ring();
    futexWait(self.woken, 0, untilNs);
  }
  enter(goal.own);
  parking_.remove(&self);
  if (awake) return Slept::kNot;
  return self.woken.load(std::memory_order_relaxed) != 0 ? Slept::kWoken : Slept::kTimedOut;
}

EngineCore::Slept EngineCore::sleep(const Goal& goal, Deadline deadline, bool worker) {
  const uint64_t now = monotonicNs();
  Role expected = Role::kFree;
  if (role_.compare_exchange_strong(expected, worker ? Role::kWorker : Role::kHelper,
                                    std::memory_order_seq_cst)) {
    return sleepInEpoll(goal, std::min(deadline.ns(), now + kLongestSleepNs), worker);
  }
  if (worker) return Slept::kNot;
  return park(goal, std::min(deadline.ns(), now + kLongestParkNs));
}

// The caller has entered. True when the goal was reached.
bool EngineCore::run(const Goal& goal, Deadline deadline, Kind kind) {
  FloatGuard floats;
  WaitingPolicy policy(kind != Kind::kHelper);
  bool justWoken = false;
  for (uint32_t round = 0;; ++round) {
    bool moved = goal.own != nullptr && goal.own->advance(kOwnSteps) == Stream::Advance::kMoved;
    if (goal.isReached()) return true;
    const uint32_t scanners = scanners_.load(std::memory_order_relaxed);
    const bool all = scanners > cpuBudget().cpus || round % kRoundsBetweenFullScans == 0;
    const Scan others = scan(goal.own, all);
    moved |= others.moved != 0;
    if (goal.isReached()) return true;
    if (justWoken && others.moved > 1 && scanners < cpuBudget().cpus && parking_.parked() != 0) {
      parking_.unparkOne();  // there is work for one more
    }
    justWoken = false;
    if (round % kRoundsBetweenClocks == kRoundsBetweenClocks - 1 && deadline.expired())
      return false;
    if (moved) {
      policy.reset();
      continue;
    }
    switch (policy.next(scanners)) {
      case WaitingPolicy::Step::kSpin:
        WaitingPolicy::pause();
        break;
      case WaitingPolicy::Step::kYield:
        if (deadline.expired()) return false;
        policy.yield();
        break;
      case WaitingPolicy::Step::kSleep:
        if (deadline.expired()) return false;
        if (kind == Kind::kExtraWorker) return false;
        switch (sleep(goal, deadline, kind == Kind::kWorker)) {
          case Slept::kNot:  // another thread holds something: let it run
            policy.yield();
            break;
          case Slept::kWoken:  // where one event came, more may follow
            policy.reset();
            break;
          case Slept::kTimedOut:
            break;
        }
        justWoken = true;
        break;
    }
  }
}

bool EngineCore::help(Stream* own, uint64_t target, const std::function<bool()>* done,
                      Deadline deadline) {
  if (!start().isOk()) return false;
  Goal goal;
  goal.own = own;
  goal.target = target;
  goal.done = done;
  helpers_.fetch_add(1, std::memory_order_seq_cst);
  enter(own);
  const bool reached = run(goal, deadline, Kind::kHelper);
  helpers_.fetch_sub(1, std::memory_order_seq_cst);
  leave(own, false);
  return reached;
}

void EngineCore::assist(Stream* own) {
  FloatGuard floats;
  const auto advance = [own] {
    return own->advance(kOwnSteps, Stream::Which::kBrief) == Stream::Advance::kMoved;
  };
  bool moved = advance();
  if (own->backlog() > kAssistBacklog) {
    WaitingPolicy policy(false);
    for (int idle = 0; idle < kAssistPolls && own->backlog() > kAssistBacklog;) {
      if (advance()) {
        moved = true;
        idle = 0;
        policy.reset();
      } else if (policy.next(1) == WaitingPolicy::Step::kSpin) {
        ++idle;
        WaitingPolicy::pause();
      } else {
        idle += kAssistPolls / kAssistYields;
        policy.yield();
      }
    }
  }
  if (moved)
    assists_.store(assists_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// ---- workers ----

// True while the only stream with work is being advanced by the thread that fills it.
bool EngineCore::isAssisted(uint32_t& seen) const {
  const uint32_t now = assists_.load(std::memory_order_relaxed);
  return std::exchange(seen, now) != now && activeStreams.count() <= 1;
}

// True while workers need not do anything because threads of the program do it.
bool EngineCore::enoughHelpers() const {
  const uint32_t helpers = helpers_.load(std::memory_order_seq_cst);
  if (helpers == 0 || workers_ == 1) return helpers != 0;
  return helpers >= std::min(workers_, std::max(1U, activeStreams.count()));
}

void EngineCore::waitForTick() {
  Role expected = Role::kFree;
  const bool watch = pollers_.count() != 0 && helpers_.load(std::memory_order_seq_cst) == 0 &&
                     role_.compare_exchange_strong(expected, Role::kWorker);
  if (!watch) {
    pollfd timer = {timerFd_.get(), POLLIN, 0};
    if (::poll(&timer, 1, -1) > 0) takeTick();
    return;
  }
  sleepersWord_->store(1, std::memory_order_seq_cst);
  const Scan last = scan(nullptr, true);
  if (last.moved == 0 && !last.busy && !stop_.load()) waitForEvents(true, UINT64_MAX);
  sleepersWord_->store(0, std::memory_order_seq_cst);
  role_.store(Role::kFree, std::memory_order_seq_cst);
}

void EngineCore::workerLoop() {
  const std::function<bool()> done = [this] {
    return stop_.load(std::memory_order_relaxed) || activeStreams.isEmpty() || enoughHelpers();
  };
  Goal goal;
  goal.done = &done;
  uint32_t assistsSeen = 0;
  while (!stop_.load(std::memory_order_seq_cst)) {
    waitForTick();
    if (isAssisted(assistsSeen) && !stop_.load(std::memory_order_seq_cst)) {
      tickArmed_.store(0, std::memory_order_seq_cst);
      armTick();  // whoever pushed meanwhile relies on it
      continue;
    }
    enter(nullptr);
    tickArmed_.store(0, std::memory_order_seq_cst);
    if (workers_ > 1 && activeStreams.count() > scanners_.load()) wakeExtraWorkers();
    // At least one look: pushes since the last one may have relied on this tick.
    if (scanners_.load(std::memory_order_seq_cst) == 1) scan(nullptr, true);
    if (!done()) run(goal, Deadline::never(), Kind::kWorker);
    leave(nullptr, true);
  }
}

void EngineCore::wakeExtraWorkers() {
  extraSignal_.fetch_add(1, std::memory_order_seq_cst);
  futexWake(extraSignal_, static_cast<int>(workers_ - 1));
}

void EngineCore::extraWorkerLoop() {
  const std::function<bool()> done = [this] {
    return stop_.load(std::memory_order_relaxed) || activeStreams.isEmpty();
  };
  Goal goal;
  goal.done = &done;
  uint32_t seen = extraSignal_.load(std::memory_order_seq_cst);
  while (!stop_.load(std::memory_order_seq_cst)) {
    futexWait(extraSignal_, seen, UINT64_MAX);
    seen = extraSignal_.load(std::memory_order_seq_cst);
    enter(nullptr);
    if (!done()) run(goal, Deadline::never(), Kind::kExtraWorker);
    leave(nullptr, true);
  }
}

}  // namespace hccl::runtime
