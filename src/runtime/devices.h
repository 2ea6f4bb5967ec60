// Devices: how many there are, and which one is the calling thread's.
#pragma once

#include <cstdint>

namespace hccl::runtime {

// -1: none.
void setCurrentDevice(int32_t device);

// Physical cores of the host (of the container's CPU set), by hwloc; at least 1.
uint32_t physicalCores();

// Bytes of a last-level cache, by hwloc; 32 MiB where it cannot tell. Looked up at the first call.
uint64_t lastLevelCacheBytes();

}  // namespace hccl::runtime
