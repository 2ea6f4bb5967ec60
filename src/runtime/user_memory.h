// UserMemory: the allocations of aclrtMalloc and aclrtMallocHost. The library's own allocations in
// the same arenas are not among them, so resetting a device leaves them alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/base/status.h"

namespace hccl::runtime {

struct UserAllocation {
  uintptr_t start = 0;
  size_t bytes = 0;
  int32_t device = 0;
  bool host = false;  // of aclrtMallocHost
};

Result<void*> allocateUser(int32_t device, size_t bytes, size_t alignment, bool host);
// HCCL_E_PARA when it is not the start of an allocation of that kind.
Status freeUser(void* address, bool host);
// The allocation that holds the address.
std::optional<UserAllocation> findUser(const void* address);
// Of a device (all for -1).
void freeAllUser(int32_t device);

}  // namespace hccl::runtime
