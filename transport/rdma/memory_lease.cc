#include "transport/rdma/memory_lease.h"

namespace hccl::transport::rdma {

bool MemoryLease::acquire(const QueueSet& queues, const std::byte* data, size_t bytes) {
  uint64_t offset = 0;
  if (runtime::Arena* arena = runtime::Arena::find(data, bytes, &offset)) {
    // The same memory may be mapped elsewhere, too: devices know the arena's own addresses.
    const auto range = arena->exposeAll(offset, bytes);
    if (!range) return false;
    arena_ = arena;
    offset_ = offset;
    address_ = reinterpret_cast<uint64_t>(arena->base() + offset);
    if (registerAll(queues, *range)) return true;
  } else if (const auto kept = runtime::keptMemory(data, bytes)) {
    address_ = reinterpret_cast<uint64_t>(data);
    if (registerAll(queues, *kept)) return true;
  }
  release();
  return false;
}

bool MemoryLease::registerAll(const QueueSet& queues, const runtime::MemoryRange& range) {
  const auto& rails = queues.rails();
  for (size_t i = 0; i < rails.size(); ++i) {
    regions_[i] = rails[i].device->regions().get(range);
    if (!regions_[i]) return false;
  }
  return true;
}

void MemoryLease::release() {
  for (auto& region : regions_) region.reset();
  address_ = 0;
  if (runtime::Arena* arena = std::exchange(arena_, nullptr)) arena->unexpose(offset_);
}

}  // namespace hccl::transport::rdma
