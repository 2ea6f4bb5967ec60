#include "src/runtime/event.h"

#include "src/runtime/engine.h"
#include "src/runtime/pool.h"
#include "src/runtime/process_state.h"

namespace hccl::runtime {
namespace {

using EventTable = HandleTable<Event, 0x45, 65536>;

EventTable& eventTable() {
  static EventTable* table = new EventTable;  // lives until the process ends
  return *table;
}

class WaitTask : public Task {
 public:
  RecordRef record;
  std::shared_ptr<std::atomic<int>> waits;
  uint64_t untilNs = 0;  // 0: not begun
  bool timedOut = false;

  Poll advance() noexcept override {
    if (record.isDone()) return Poll::kDone;
    if (untilNs == 0) {
      const uint32_t seconds = opWaitTimeout().load(std::memory_order_relaxed);
      untilNs = seconds == 0 ? UINT64_MAX : Deadline::after(seconds).ns();
    }
    if (untilNs != UINT64_MAX && monotonicNs() >= untilNs) {
      timedOut = true;
      return Poll::kDone;
    }
    return Poll::kIdle;
  }
  Status status() const override {
    if (!timedOut) return Status::ok();
    return Status(HCCL_E_TIMEOUT,
                  "an event was waited for longer than aclrtSetOpWaitTimeout allows");
  }
  void retire() noexcept override {
    waits->fetch_sub(1, std::memory_order_seq_cst);
    waits.reset();
    record = RecordRef();
    poolOf<WaitTask>().give(this);
  }
};

class ResetTask : public Task {
 public:
  void* event = nullptr;
  RecordRef record;

  Poll advance() noexcept override {
    if (Event* live = findEvent(event); live != nullptr) live->forget(record.get());
    return Poll::kDone;
  }
  Status status() const override { return Status::ok(); }
  void retire() noexcept override {
    record = RecordRef();
    poolOf<ResetTask>().give(this);
  }
};

}  // namespace

std::atomic<uint32_t>& opWaitTimeout() {
  static std::atomic<uint32_t> seconds{0};
  return seconds;
}

// ---- Record ----

Record* Record::make() {
  Record* record = poolOf<Record>().take();
  record->references_.store(1, std::memory_order_relaxed);
  record->done_.store(false, std::memory_order_relaxed);
  record->timeNs_ = 0;
  return record;
}

void Record::release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) poolOf<Record>().give(this);
}

void Record::complete() noexcept {
  timeNs_ = monotonicNs();
  done_.store(true, std::memory_order_seq_cst);
  Engine::instance().wake();  // other streams and threads may wait for it
}

Poll Record::advance() noexcept {
  complete();
  return Poll::kDone;
}

void Record::retire() noexcept {
  if (!isDone()) complete();
  release();
}

// ---- Event ----

void Event::open(uint32_t index, int32_t device, uint32_t flags) {
  std::lock_guard lock(mutex_);
  index_ = index;
  device_ = device;
  flags_ = flags;
  latest_ = RecordRef();
  waits_ = std::make_shared<std::atomic<int>>(0);
}

void Event::close() {
  std::lock_guard lock(mutex_);
  latest_ = RecordRef();
  waits_.reset();
}

RecordRef Event::latest() const {
  std::lock_guard lock(mutex_);
  return latest_;
}

void Event::setLatest(RecordRef record) {
  std::lock_guard lock(mutex_);
  latest_ = std::move(record);
}

void Event::forget(const Record* record) {
  std::lock_guard lock(mutex_);
  if (latest_.get() == record) latest_ = RecordRef();
}

int Event::waiting() const {
  const auto counter = waits();
  return counter != nullptr ? counter->load() : 0;
}

std::shared_ptr<std::atomic<int>> Event::waits() const {
  std::lock_guard lock(mutex_);
  return waits_;
}

Result<void*> createEvent(int32_t device, uint32_t flags) {
  HCCL_RETURN_IF_ERROR(usableStatus());
  uint32_t index = 0;
  Event* event = eventTable().acquire(&index);
  if (event == nullptr) {
    return Status(HCCL_E_UNAVAIL, "all 65536 events of the process are in use");
  }
  event->open(index, device, flags);
  return eventTable().publish(index);
}

Event* findEvent(void* handle) {
  return eventTable().find(handle);
}

Status destroyEvent(void* handle) {
  HCCL_RETURN_IF_ERROR(usableStatus());
  Event* event = findEvent(handle);
  if (event == nullptr || !eventTable().retract(handle)) {
    return Status(HCCL_E_PARA, "not a live event");
  }
  event->close();
  eventTable().recycle(event->index());
  return Status::ok();
}

std::vector<void*> eventHandlesOf(int32_t device) {
  std::vector<void*> handles;
  EventTable& table = eventTable();
  for (uint32_t i = 0; i < table.count(); ++i) {
    void* handle = table.liveHandle(i);
    if (handle != nullptr && (device < 0 || table.at(i)->device() == device)) {
      handles.push_back(handle);
    }
  }
  return handles;
}

Status recordEvent(Event* event, Stream* stream) {
  Record* record = Record::make();
  record->addReference();  // the stream's
  event->setLatest(RecordRef(record));
  Status status = enqueue(stream, record);
  if (!status.isOk()) record->retire();
  return status;
}

Status resetEvent(void* handle, Stream* stream) {
  Event* event = findEvent(handle);
  if (event == nullptr) return Status(HCCL_E_PARA, "not a live event");
  ResetTask* task = poolOf<ResetTask>().take();
  task->event = handle;
  task->record = event->latest();
  Status status = enqueue(stream, task);
  if (!status.isOk()) task->retire();
  return status;
}

Status waitEvent(Event* event, Stream* stream) {
  RecordRef record = event->latest();
  auto waits = event->waits();
  if (record.isDone() || waits == nullptr) return Status::ok();
  WaitTask* task = poolOf<WaitTask>().take();
  task->record = std::move(record);
  task->waits = std::move(waits);
  task->untilNs = 0;
  task->timedOut = false;
  task->waits->fetch_add(1, std::memory_order_seq_cst);
  Status status = enqueue(stream, task);
  if (!status.isOk()) task->retire();
  return status;
}

Status synchronizeEvent(Event* event, Deadline deadline) {
  HCCL_RETURN_IF_ERROR(usableStatus());
  const RecordRef record = event->latest();
  if (record.isDone()) return Status::ok();
  if (Engine::instance().helpUntil([&record] { return record.isDone(); }, deadline)) {
    return Status::ok();
  }
  return Status(HCCL_E_TIMEOUT, "the event was not reached before the deadline");
}

}  // namespace hccl::runtime
