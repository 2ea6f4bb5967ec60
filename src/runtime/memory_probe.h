// MemoryProbe: how much memory this process can still have, by the host and by its control groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hccl::runtime {

struct MemoryState {
  uint64_t total = 0;      // bytes of the host, or the smallest limit of a control group
  uint64_t available = 0;  // bytes that can be allocated without an out-of-memory kill
};

// Reads the kernel's files; `root` prefixes /proc and /sys (tests).
MemoryState memoryState(const std::string& root = "");

// The bytes that stay untouched, so that the rest of the program can live: 1/64 of the total,
// at least 32 MiB, at most 512 MiB.
uint64_t memoryReserve(const MemoryState& state);

}  // namespace hccl::runtime
