// EngineCore: the inside of the engine. The rules that keep wake-ups from being lost:
//  - A *scanner* is an awake thread that advances all active streams in a loop. It counts itself in
//    scanners_. Whoever pushes a task looks at scanners_ after the push; a scanner that stops
//    scanning looks at the streams once more after it left the count.
//  - At most one thread holds the *role* of sleeping in epoll. It sets the doorbell word, then
//  looks
//    at everything once more, then sleeps. Other threads that have to wait park on a futex of their
//    own; whoever completes their stream, or leaves while nobody holds the role, unparks one.
//  - When no scanner is there, a push arms the tick: a progress thread looks after the work 1 ms
//    later, unless a helper has come or the thread that pushes does the work itself (assist).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/clock.h"
#include "src/base/fd.h"
#include "src/runtime/engine.h"
#include "src/runtime/parking.h"
#include "src/runtime/pollers.h"
#include "src/runtime/stream_impl.h"
#include "src/runtime/thread.h"
#include "src/runtime/waiting.h"

namespace hccl::runtime {

class EngineCore {
 public:
  static EngineCore& instance();

  // Descriptors and threads, at the first call; the same Status ever after.
  bool isStarted() const { return started_.load(std::memory_order_acquire); }
  Status start() { return started_.load(std::memory_order_acquire) ? Status::ok() : startSlowly(); }
  void shutdown();

  // After a push.
  void noteWork() {
    if (scanners_.load(std::memory_order_seq_cst) == 0 &&
        tickArmed_.load(std::memory_order_seq_cst) == 0) {
      armTick();
    }
  }

  // Helps until own->completedCount() >= target (own given) or (*done)().
  bool help(Stream* own, uint64_t target, const std::function<bool()>* done, Deadline deadline);

  // One look at the stream's brief tasks.
  void assist(Stream* own);

  void unparkStream(Stream* stream) { parking_.unparkStream(stream, *this); }
  // Something that a done() of helpUntil may look at has changed.
  void notifyWaiters() {
    if (parking_.generic() != 0) parking_.unparkGeneric(*this);
  }
  // Wakes the thread that sleeps in epoll, if there is one.
  void ringIfAsleep();
  void ring();

  Doorbell doorbell() const { return {pageFd_.get(), sleepersWord_, eventFd_.get()}; }
  int wakeSet() const { return epollFd_.get(); }
  Pollers& pollers() { return pollers_; }

  // For tests: how often the tick was armed and the doorbell rung by this process.
  uint64_t ticksArmed() const { return ticksArmed_.load(std::memory_order_relaxed); }
  uint64_t rings() const { return rings_.load(std::memory_order_relaxed); }

 private:
  // What a thread waits for: a number of completed tasks of its stream, or done().
  struct Goal {
    Stream* own = nullptr;
    uint64_t target = 0;
    const std::function<bool()>* done = nullptr;
    bool isReached() const { return own != nullptr ? own->completedCount() >= target : (*done)(); }
  };
  struct Scan {
    int moved = 0;      // streams and pollers that moved
    bool busy = false;  // another thread was at some of them
  };
  enum class Role : uint32_t { kFree, kHelper, kWorker };
  enum class Slept { kNot, kWoken, kTimedOut };
  enum class Kind { kHelper, kWorker, kExtraWorker };

  EngineCore() = default;
  Status startSlowly();
  Status open();
  void armTick();

  Scan scan(Stream* own, bool all);
  void enter(Stream* own);
  uint32_t stopScanning(Stream* own);
  void leave(Stream* own, bool worker);
  bool waitForEvents(bool worker, uint64_t untilNs);
  void takeTick();
  Slept sleepInEpoll(const Goal& goal, uint64_t untilNs, bool worker);
  Slept park(const Goal& goal, uint64_t untilNs);
  Slept sleep(const Goal& goal, Deadline deadline, bool worker);
  bool run(const Goal& goal, Deadline deadline, Kind kind);

  bool enoughHelpers() const;
  bool isAssisted(uint32_t& seen) const;
  void workerLoop();
  void extraWorkerLoop();
  void waitForTick();
  void wakeExtraWorkers();

  std::atomic<bool> started_{false};
  alignas(64) std::atomic<uint32_t> scanners_{0};
  std::atomic<uint32_t> tickArmed_{0};
  std::atomic<uint32_t> helpers_{0};  // threads of the program inside help(), awake or not
  std::atomic<uint32_t> assists_{0};  // grows while threads that enqueue advance what they enqueue
  alignas(64) std::atomic<Role> role_{Role::kFree};
  std::atomic<uint32_t>* sleepersWord_ = nullptr;  // the doorbell word
  Parking parking_;
  Pollers pollers_;
  std::atomic<uint64_t> ticksArmed_{0};
  std::atomic<uint64_t> rings_{0};

  UniqueFd epollFd_, eventFd_, timerFd_, pageFd_;
  std::atomic<bool> stop_{false};
  std::atomic<uint32_t> extraSignal_{0};
  uint32_t workers_ = 1;
  std::mutex lifeMutex_;  // start and shutdown
  Status startStatus_;
  bool startTried_ = false;
  std::vector<Thread> threads_;
};

}  // namespace hccl::runtime
