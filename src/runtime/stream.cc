#include "src/runtime/stream.h"

#include <sched.h>

#include <bit>

#include "src/runtime/engine_core.h"
#include "src/runtime/failure_hook.h"
#include "src/runtime/process_state.h"
#include "src/runtime/stream_impl.h"

namespace hccl::runtime {

constinit ActiveStreams activeStreams;

uint32_t ActiveStreams::count() const {
  uint32_t total = 0;
  for (uint32_t i = 0, n = words(); i < n; ++i) {
    total += static_cast<uint32_t>(std::popcount(word(i)));
  }
  return total;
}

void Stream::push(Task* task) {
  enqueued_.fetch_add(1, std::memory_order_seq_cst);
  Task* newest = inbox_.load(std::memory_order_relaxed);
  do {
    task->next = newest;
  } while (!inbox_.compare_exchange_weak(newest, task, std::memory_order_seq_cst,
                                         std::memory_order_relaxed));
  activeStreams.add(index_);
}

// The oldest task. All of head_ is older than all of inbox_, which holds the newest first.
Task* Stream::head() {
  if (head_ == nullptr) {
    Task* newest = inbox_.exchange(nullptr, std::memory_order_acq_rel);
    while (newest != nullptr) {
      Task* older = newest->next;
      newest->next = head_;
      head_ = newest;
      newest = older;
    }
  }
  return head_;
}

void Stream::noteError(const Status& status, Cut why) {
  if (!failed_.load(std::memory_order_relaxed)) {
    firstError_ = status;
    cut_ = why;
    failed_.store(true, std::memory_order_release);
  }
}

void Stream::finish(Task* task) {
  if (const Status status = task->status(); !status.isOk()) {
    noteError(status, Cut::kNone);
    reportTaskFailure(this, completed_.load(std::memory_order_relaxed), status);
  }
  drop(task);
}

void Stream::drop(Task* task) {
  head_ = task->next;
  task->retire();
  completed_.fetch_add(1, std::memory_order_seq_cst);
}

Stream::Advance Stream::advance(int steps, Which which) {
  if (!tryLock()) return Advance::kBusy;
  const uint64_t before = completed_.load(std::memory_order_relaxed);
  bool moved = false;
  for (; steps > 0; --steps) {
    Task* task = head();
    if (task == nullptr || (which == Which::kBrief && !task->isBrief)) break;
    if (failed_.load(std::memory_order_relaxed) &&
        failureMode.load(std::memory_order_relaxed) == 1) {
      drop(task);
      moved = true;
      continue;
    }
    const Poll poll = task->advance();
    if (poll == Poll::kIdle) break;
    moved = true;
    if (poll == Poll::kDone) finish(task);
  }
  if (moved) moves_.store(moves_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  bool reap = false;
  if (head_ == nullptr && inbox_.load(std::memory_order_seq_cst) == nullptr) {
    // Whoever pushes after this load finds the bit cleared and sets it; whoever pushed before is
    // seen by the second load.
    activeStreams.remove(index_);
    if (inbox_.load(std::memory_order_seq_cst) != nullptr) {
      activeStreams.add(index_);
    } else {
      reap = orphan.load(std::memory_order_acquire) && isIdle() && orphan.exchange(false);
    }
  }
  const bool completedSome = completed_.load(std::memory_order_relaxed) != before;
  unlock();
  if (completedSome && sleepers.load(std::memory_order_seq_cst) != 0) {
    EngineCore::instance().unparkStream(this);
  }
  if (reap) reapOrphan(this);
  return moved ? Advance::kMoved : Advance::kNothing;
}

bool Stream::cut(Cut why, Deadline deadline) {
  while (!tryLock()) {
    if (deadline.expired()) return false;
    sched_yield();
  }
  bool any = false;
  for (Task* task = head(); task != nullptr; task = head()) {
    drop(task);
    any = true;
  }
  if (any) {
    noteError(Status(HCCL_E_RUNTIME, why == Cut::kDeviceAbort
                                         ? "the task was ended by aclrtDeviceTaskAbort"
                                         : "the task was ended because its stream was destroyed"),
              why);
  }
  unlock();
  if (any && sleepers.load(std::memory_order_seq_cst) != 0) {
    EngineCore::instance().unparkStream(this);
  }
  return true;
}

Status Stream::takeError(Cut* cut) {
  if (cut != nullptr) *cut = Cut::kNone;
  if (!failed_.load(std::memory_order_acquire)) return Status::ok();
  while (!tryLock()) sched_yield();  // the holder is inside one non-blocking advance()
  Status error;
  if (failed_.load(std::memory_order_relaxed)) {
    error = std::move(firstError_);
    firstError_ = Status();
    if (cut != nullptr) *cut = cut_;
    cut_ = Cut::kNone;
    failed_.store(false, std::memory_order_relaxed);
  }
  unlock();
  return error;
}

void Stream::open(uint32_t index, int32_t device, uint32_t priority, uint32_t flags) {
  while (!tryLock()) sched_yield();
  index_ = index;
  device_ = device;
  priority_ = priority;
  flags_ = flags;
  firstError_ = Status();
  cut_ = Cut::kNone;
  failed_.store(false, std::memory_order_relaxed);
  failureMode.store(0, std::memory_order_relaxed);
  subscriber.store(0, std::memory_order_relaxed);
  orphan.store(false, std::memory_order_relaxed);
  unlock();
}

// ---- the contract of stream.h ----

Stream* findStream(void* handle) {
  return streamTable().find(handle);
}

Status enqueue(Stream* stream, Task* task) {
  EngineCore& engine = EngineCore::instance();
  if (!isUsable()) return usableStatus();
  HCCL_RETURN_IF_ERROR(engine.start());
  stream->push(task);
  engine.noteWork();
  return Status::ok();
}

void assist(Stream* stream) {
  EngineCore::instance().assist(stream);
}

int32_t streamId(const Stream* stream) {
  return stream->id();
}
int32_t streamDevice(const Stream* stream) {
  return stream->device();
}
bool streamIdle(const Stream* stream) {
  return stream->isIdle();
}

bool waitForStream(Stream* stream, Deadline deadline) {
  const uint64_t target = stream->enqueuedCount();
  return stream->completedCount() >= target ||
         EngineCore::instance().help(stream, target, nullptr, deadline);
}

Status synchronize(Stream* stream, Deadline deadline) {
  if (!isUsable()) return usableStatus();
  if (stream->hostThread().isCurrent()) {
    return Status(HCCL_E_PARA, "a host function must not wait for its own stream");
  }
  if (!waitForStream(stream, deadline)) {
    return Status(HCCL_E_TIMEOUT,
                  "stream " + std::to_string(stream->id()) + " still has tasks at the deadline");
  }
  return stream->takeError();
}

}  // namespace hccl::runtime
