#include "src/runtime/vmm.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>
#include <map>
#include <mutex>

#include "src/base/system_error.h"
#include "src/runtime/alias_table.h"
#include "src/runtime/arena.h"
#include "src/runtime/handle_table.h"

namespace hccl::runtime {
namespace {

struct Physical {
  Arena* arena = nullptr;
  uint64_t offset = 0;
  size_t bytes = 0;
  uint32_t index = 0;
  uint32_t mappings = 0;  // under the lock
};
using PhysicalTable = HandleTable<Physical, 0x50, 16384>;

struct Mapped {
  size_t bytes;
  void* handle;
};

struct State {
  std::mutex mutex;
  std::map<uintptr_t, size_t> reserved;
  std::map<uintptr_t, Mapped> mapped;
  PhysicalTable physical;
};

State& state() {
  static State* made = new State;  // lives until the process ends
  return *made;
}

Status badSize(size_t bytes) {
  return Status(HCCL_E_PARA,
                fmt::format("{} bytes is not a positive multiple of {}", bytes, kGranularity));
}

bool isLegal(size_t bytes) {
  return bytes != 0 && bytes % kGranularity == 0 && bytes <= (size_t{1} << 46);
}

uintptr_t numberOf(const void* address) {
  return reinterpret_cast<uintptr_t>(address);
}

// Whether [address, address + bytes) lies in one reservation and touches no mapping.
bool isFreeRoom(State& s, uintptr_t address, size_t bytes) {
  auto room = s.reserved.upper_bound(address);
  if (room == s.reserved.begin()) return false;
  --room;
  if (address - room->first > room->second || room->second - (address - room->first) < bytes) {
    return false;
  }
  const auto next = s.mapped.lower_bound(address);
  if (next != s.mapped.end() && next->first < address + bytes) return false;
  if (next == s.mapped.begin()) return true;
  const auto before = std::prev(next);
  return before->first + before->second.bytes <= address;
}

}  // namespace

Result<void*> reserveAddress(size_t bytes, void* expected) {
  if (!isLegal(bytes)) return badSize(bytes);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  State& s = state();
  if (expected != nullptr && numberOf(expected) % kGranularity == 0) {
    void* got = ::mmap(expected, bytes, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == expected) {
      std::lock_guard lock(s.mutex);
      s.reserved[numberOf(got)] = bytes;
      return got;
    }
    if (got != MAP_FAILED) ::munmap(got, bytes);
  }
  void* room = ::mmap(nullptr, bytes + kGranularity, PROT_NONE, kFlags, -1, 0);
  if (room == MAP_FAILED) return systemCallError("reserving addresses", errno);
  const uintptr_t start = (numberOf(room) + kGranularity - 1) & ~(uintptr_t{kGranularity} - 1);
  const size_t before = start - numberOf(room);
  if (before != 0) ::munmap(room, before);
  auto* address = static_cast<std::byte*>(room) + before;
  if (before != kGranularity) ::munmap(address + bytes, kGranularity - before);
  std::lock_guard lock(s.mutex);
  s.reserved[start] = bytes;
  return static_cast<void*>(address);
}

Status releaseAddress(void* address) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  const auto room = s.reserved.find(numberOf(address));
  if (room == s.reserved.end()) return Status(HCCL_E_PARA, "not a reserved range");
  const auto next = s.mapped.lower_bound(room->first);
  if (next != s.mapped.end() && next->first < room->first + room->second) {
    return Status(HCCL_E_AGAIN, "memory is still mapped in the range");
  }
  ::munmap(address, room->second);
  s.reserved.erase(room);
  return Status::ok();
}

Result<void*> allocatePhysical(int32_t device, size_t bytes) {
  if (!isLegal(bytes)) return badSize(bytes);
  HCCL_ASSIGN_OR_RETURN(Arena * arena, Arena::ofDevice(device));
  HCCL_ASSIGN_OR_RETURN(void* memory, arena->allocate(bytes, kGranularity));
  uint32_t index = 0;
  Physical* physical = state().physical.acquire(&index);
  if (physical == nullptr) {
    (void)arena->release(memory);
    return Status(HCCL_E_UNAVAIL, "all 16384 physical memory handles are in use");
  }
  physical->arena = arena;
  physical->offset = numberOf(memory) - numberOf(arena->base());
  physical->bytes = bytes;
  physical->index = index;
  physical->mappings = 0;
  return state().physical.publish(index);
}

Status freePhysical(void* handle) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  Physical* physical = s.physical.find(handle);
  if (physical == nullptr) return Status(HCCL_E_PARA, "not a live memory handle");
  if (physical->mappings != 0) return Status(HCCL_E_AGAIN, "the memory is still mapped");
  s.physical.retract(handle);
  Status status = physical->arena->release(physical->arena->base() + physical->offset);
  s.physical.recycle(physical->index);
  return status;
}

Status mapPhysical(void* address, size_t bytes, void* handle) {
  if (!isLegal(bytes) || numberOf(address) % kGranularity != 0) return badSize(bytes);
  State& s = state();
  std::lock_guard lock(s.mutex);
  Physical* physical = s.physical.find(handle);
  if (physical == nullptr) return Status(HCCL_E_PARA, "not a live memory handle");
  if (bytes > physical->bytes) return Status(HCCL_E_PARA, "the memory is smaller than the range");
  if (!isFreeRoom(s, numberOf(address), bytes)) {
    return Status(HCCL_E_PARA, "the range is not reserved, or memory is mapped in it");
  }
  void* mapped =
      ::mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
             physical->arena->fd(), static_cast<off_t>(physical->offset));
  if (mapped == MAP_FAILED) return systemCallError("mapping memory", errno);
  ::madvise(mapped, bytes, MADV_DONTDUMP);
  ::madvise(mapped, bytes, MADV_DONTFORK);
  addAlias(numberOf(address), bytes, physical->arena, physical->offset);
  ++physical->mappings;
  s.mapped[numberOf(address)] = {bytes, handle};
  return Status::ok();
}

Status unmapPhysical(void* address) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  const auto it = s.mapped.find(numberOf(address));
  if (it == s.mapped.end()) return Status(HCCL_E_PARA, "no memory is mapped at the address");
  removeAlias(it->first);
  void* empty = ::mmap(address, it->second.bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (empty == MAP_FAILED) return systemCallError("unmapping memory", errno);
  if (Physical* physical = s.physical.find(it->second.handle)) --physical->mappings;
  s.mapped.erase(it);
  return Status::ok();
}

int32_t mappedDevice(const void* address) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  auto it = s.mapped.upper_bound(numberOf(address));
  if (it == s.mapped.begin()) return -1;
  --it;
  if (numberOf(address) - it->first >= it->second.bytes) return -1;
  Physical* physical = s.physical.find(it->second.handle);
  return physical == nullptr ? -1 : physical->arena->device();
}

}  // namespace hccl::runtime
