// Event: a mark in a stream. Each record is an object of its own, which waits keep alive: a new
// record replaces what the event stands for without disturbing those who wait for the old one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/runtime/handle_table.h"
#include "src/runtime/stream.h"
#include "src/runtime/task.h"

namespace hccl::runtime {

class Record : public Task {
 public:
  Poll advance() noexcept override;
  Status status() const override { return Status::ok(); }
  void retire() noexcept override;  // counts as complete when the stream threw it away

  bool isDone() const { return done_.load(std::memory_order_seq_cst); }
  uint64_t timeNs() const { return timeNs_; }  // valid once done

  static Record* make();  // one reference
  void addReference() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release();

 private:
  void complete() noexcept;
  std::atomic<uint32_t> references_{0};
  std::atomic<bool> done_{false};
  uint64_t timeNs_ = 0;
};

// A counted reference to a record.
class RecordRef {
 public:
  RecordRef() = default;
  // Takes over one reference.
  explicit RecordRef(Record* record) : record_(record) {}
  RecordRef(RecordRef&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  RecordRef& operator=(RecordRef&& other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  RecordRef(const RecordRef& other) : record_(other.record_) {
    if (record_ != nullptr) record_->addReference();
  }
  ~RecordRef() {
    if (record_ != nullptr) record_->release();
  }
  RecordRef& operator=(const RecordRef&) = delete;
  Record* get() const { return record_; }
  // Never recorded counts as done.
  bool isDone() const { return record_ == nullptr || record_->isDone(); }

 private:
  Record* record_ = nullptr;
};

class Event {
 public:
  void open(uint32_t index, int32_t device, uint32_t flags);
  void close();
  RecordRef latest() const;
  void setLatest(RecordRef record);
  // Forgets `record` if it is still the newest.
  void forget(const Record* record);
  int waiting() const;
  std::shared_ptr<std::atomic<int>> waits() const;
  uint32_t index() const { return index_; }
  int32_t device() const { return device_; }
  uint32_t flags() const { return flags_; }

 private:
  mutable std::mutex mutex_;
  RecordRef latest_;
  std::shared_ptr<std::atomic<int>> waits_;  // unfinished wait tasks
  uint32_t index_ = 0;
  int32_t device_ = 0;
  uint32_t flags_ = 0;
};

Result<void*> createEvent(int32_t device, uint32_t flags);
Event* findEvent(void* handle);  // nullptr when it is not a live event
Status destroyEvent(void* handle);
std::vector<void*> eventHandlesOf(int32_t device);  // -1: all

Status recordEvent(Event* event, Stream* stream);
Status resetEvent(void* handle, Stream* stream);
// The wait fails with HCCL_E_TIMEOUT after opWaitTimeout() seconds.
Status waitEvent(Event* event, Stream* stream);
// Helps until the newest record is done. HCCL_E_TIMEOUT at the deadline.
Status synchronizeEvent(Event* event, Deadline deadline);

// Seconds that wait tasks begun from now on may take; 0: no limit.
std::atomic<uint32_t>& opWaitTimeout();

}  // namespace hccl::runtime
