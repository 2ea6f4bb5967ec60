#include "src/runtime/user_memory.h"

#include <map>
#include <mutex>
#include <vector>

#include "src/runtime/arena.h"

namespace hccl::runtime {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<uintptr_t, UserAllocation> byStart;
};

Registry& registry() {
  static Registry* made = new Registry;  // lives until the process ends
  return *made;
}

}  // namespace

Result<void*> allocateUser(int32_t device, size_t bytes, size_t alignment, bool host) {
  HCCL_ASSIGN_OR_RETURN(Arena * arena, Arena::ofDevice(device));
  HCCL_ASSIGN_OR_RETURN(void* address, arena->allocate(bytes, alignment));
  const auto start = reinterpret_cast<uintptr_t>(address);
  std::lock_guard lock(registry().mutex);
  registry().byStart[start] = {start, bytes, device, host};
  return address;
}

Status freeUser(void* address, bool host) {
  UserAllocation allocation;
  {
    std::lock_guard lock(registry().mutex);
    const auto it = registry().byStart.find(reinterpret_cast<uintptr_t>(address));
    if (it == registry().byStart.end() || it->second.host != host) {
      return Status(HCCL_E_PARA, host ? "the address was not returned by aclrtMallocHost"
                                      : "the address was not returned by aclrtMalloc");
    }
    allocation = it->second;
    registry().byStart.erase(it);
  }
  HCCL_ASSIGN_OR_RETURN(Arena * arena, Arena::ofDevice(allocation.device));
  return arena->release(address);
}

std::optional<UserAllocation> findUser(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  std::lock_guard lock(registry().mutex);
  auto it = registry().byStart.upper_bound(at);
  if (it == registry().byStart.begin()) return std::nullopt;
  --it;
  if (at - it->first >= it->second.bytes) return std::nullopt;
  return it->second;
}

void freeAllUser(int32_t device) {
  std::vector<UserAllocation> gone;
  {
    std::lock_guard lock(registry().mutex);
    for (auto it = registry().byStart.begin(); it != registry().byStart.end();) {
      if (device >= 0 && it->second.device != device) {
        ++it;
        continue;
      }
      gone.push_back(it->second);
      it = registry().byStart.erase(it);
    }
  }
  for (const UserAllocation& allocation : gone) {
    auto arena = Arena::ofDevice(allocation.device);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (arena.isOk()) (void)(*arena)->release(reinterpret_cast<void*>(allocation.start));
  }
}

}  // namespace hccl::runtime
