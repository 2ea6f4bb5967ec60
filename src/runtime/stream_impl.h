// The inside of a stream, for src/runtime only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/runtime/handle_table.h"
#include "src/runtime/host_thread.h"
#include "src/runtime/task.h"

namespace hccl::runtime {

// Why a stream threw tasks away.
enum class Cut : uint8_t { kNone, kDeviceAbort, kDestroyed };

class Stream {
 public:
  // ---- enqueuing threads ----
  // Appends; any number of threads at once.
  void push(Task* task);
  uint64_t enqueuedCount() const { return enqueued_.load(std::memory_order_seq_cst); }
  // Grows whenever the stream's tasks move.
  uint64_t moves() const { return moves_.load(std::memory_order_relaxed); }
  uint64_t completedCount() const { return completed_.load(std::memory_order_seq_cst); }
  // Tasks that are on the stream, more or less.
  uint64_t backlog() const {
    return enqueued_.load(std::memory_order_relaxed) - completed_.load(std::memory_order_relaxed);
  }
  bool isIdle() const { return completedCount() >= enqueuedCount(); }

  // ---- the engine ----
  enum class Advance { kNothing, kMoved, kBusy };  // kBusy: another thread is at it
  // Advances the head while it moves, for at most `steps` calls; with kBrief only brief tasks.
  enum class Which { kAll, kBrief };
  Advance advance(int steps, Which which = Which::kAll);
  // A helper thread that waits for this stream and is awake takes care of it (a hint).
  std::atomic<uint32_t> owners{0};
  // Threads that sleep until completedCount() reaches something.
  std::atomic<uint32_t> sleepers{0};

  // ---- control ----
  void open(uint32_t index, int32_t device, uint32_t priority, uint32_t flags);
  // Throws all tasks away. Waits for the advance lock until the deadline; false when it passed.
  bool cut(Cut why, Deadline deadline);
  // The first error since the last call, which it clears. `cut`, when given, receives why tasks
  // were thrown away.
  Status takeError(Cut* cut = nullptr);

  uint32_t index() const { return index_; }
  int32_t device() const { return device_; }
  int32_t id() const { return static_cast<int32_t>(index_); }
  uint32_t priority() const { return priority_; }
  uint32_t flags() const { return flags_; }
  HostThread& hostThread() { return hostThread_; }

  std::atomic<uint64_t> failureMode{0};  // ACL_STOP_ON_FAILURE 1
  std::atomic<uint64_t> subscriber{0};   // thread that runs the callbacks; 0: hostThread()
  std::atomic<bool> orphan{false};       // destroyed, but its tasks still run

 private:
  bool tryLock() {
    return !locked_.load(std::memory_order_relaxed) &&
           !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { locked_.store(false, std::memory_order_release); }
  Task* head();
  void drop(Task* task);
  void finish(Task* task);
  void noteError(const Status& status, Cut why);

  std::atomic<Task*> inbox_{nullptr};  // newest first
  std::atomic<uint64_t> enqueued_{0};
  alignas(64) std::atomic<bool> locked_{false};
  std::atomic<bool> failed_{false};
  Task* head_ = nullptr;  // oldest first; under the lock
  std::atomic<uint64_t> completed_{0};
  std::atomic<uint64_t> moves_{0};
  Status firstError_;  // under the lock, as is cut_
  Cut cut_ = Cut::kNone;
  uint32_t index_ = 0;
  int32_t device_ = 0;
  uint32_t priority_ = 0;
  uint32_t flags_ = 0;
  HostThread hostThread_;
};

using StreamTable = HandleTable<Stream, 0x53, 16384>;
StreamTable& streamTable();

// Slots of streams that (may) have tasks. A set bit means: scan it.
class ActiveStreams {
 public:
  void add(uint32_t index) {
    std::atomic<uint64_t>& word = words_[index / 64];
    const uint64_t bit = 1ULL << (index % 64);
    // seq_cst orders this load after the push of the task, see Stream::advance.
    if ((word.load(std::memory_order_seq_cst) & bit) != 0) return;
    word.fetch_or(bit, std::memory_order_seq_cst);
    uint32_t high = used_.load(std::memory_order_relaxed);
    while (high <= index / 64 && !used_.compare_exchange_weak(high, index / 64 + 1)) {
    }
  }
  void remove(uint32_t index) {
    words_[index / 64].fetch_and(~(1ULL << (index % 64)), std::memory_order_seq_cst);
  }
  uint32_t words() const { return used_.load(std::memory_order_seq_cst); }
  uint64_t word(uint32_t i) const { return words_[i].load(std::memory_order_seq_cst); }
  bool isEmpty() const {
    for (uint32_t i = 0, n = words(); i < n; ++i) {
      if (word(i) != 0) return false;
    }
    return true;
  }
  uint32_t count() const;

 private:
  std::atomic<uint64_t> words_[16384 / 64]{};
  std::atomic<uint32_t> used_{0};
};
extern constinit ActiveStreams activeStreams;

// The waiting half of synchronize(): false at the deadline.
bool waitForStream(Stream* stream, Deadline deadline);

// ---- life (stream_life.cc) ----
Result<void*> createStream(int32_t device, uint32_t priority, uint32_t flags);
// Waits for the tasks. When nothing moved for destroyPatience() the stream goes on as an orphan:
// its handle is dead, its tasks still run when they can. `force` throws the tasks away instead.
Status destroyStream(void* handle, bool force);
// Live streams of a device; all of them for -1. A snapshot.
// Waits as destroyStream does; false when it gave up.
bool waitWithPatience(Stream* stream);
std::vector<Stream*> streamsOf(int32_t device);
std::vector<void*> streamHandlesOf(int32_t device);
Status abortDevice(int32_t device, Deadline deadline);
// Frees an orphan that has become idle (called by whoever completes its last task).
void reapOrphan(Stream* stream);
// Seconds without any progress after which destroyStream gives up waiting. Tests shorten it.
std::atomic<double>& destroyPatience();

}  // namespace hccl::runtime
