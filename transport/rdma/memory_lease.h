// MemoryLease: memory of the user that the devices of a link may read and write while it is held.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "src/runtime/arena.h"
#include "transport/rdma/queue_set.h"

namespace hccl::transport::rdma {

class MemoryLease {
 public:
  MemoryLease() = default;
  ~MemoryLease() { release(); }
  MemoryLease(const MemoryLease&) = delete;
  MemoryLease& operator=(const MemoryLease&) = delete;

  // False when the memory is of a kind that may go away unnoticed, or a device cannot have it.
  // Arena memory that is freed meanwhile stays until the release.
  bool acquire(const QueueSet& queues, const std::byte* data, size_t bytes);
  void release();

  bool isHeld() const { return address_ != 0; }
  uint64_t address() const { return address_; }  // as the devices know it
  uint32_t localKey(size_t rail) const { return (*regions_[rail])->lkey; }
  uint32_t remoteKey(size_t rail) const { return (*regions_[rail])->rkey; }

 private:
  bool registerAll(const QueueSet& queues, const runtime::MemoryRange& range);

  uint64_t address_ = 0;
  runtime::Arena* arena_ = nullptr;
  uint64_t offset_ = 0;
  std::array<std::shared_ptr<const MemoryRegion>, kMaxRails> regions_;  // by rail
};

}  // namespace hccl::transport::rdma
