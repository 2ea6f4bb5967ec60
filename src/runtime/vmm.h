// Vmm: addresses without memory, memory without addresses, and putting one at the other. The memory
// lies in the device's arena and is mapped a second time, so peers reach it like any arena memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/status.h"

namespace hccl::runtime {

inline constexpr size_t kGranularity = 2 << 20;

// All return HCCL_E_PARA for sizes that are no multiple of the granularity and unknown handles.
Result<void*> reserveAddress(size_t bytes, void* expected);
// HCCL_E_AGAIN while memory is mapped in it.
Status releaseAddress(void* address);
Result<void*> allocatePhysical(int32_t device, size_t bytes);
// HCCL_E_AGAIN while it is mapped.
Status freePhysical(void* handle);
Status mapPhysical(void* address, size_t bytes, void* handle);
Status unmapPhysical(void* address);
// The device whose memory is mapped at the address; -1 if none.
int32_t mappedDevice(const void* address);

}  // namespace hccl::runtime
