// The error of a read of plain memory in a peer's process.
#pragma once

#include <fmt/format.h>

#include <cstring>

#include "src/base/status.h"

namespace hccl::executor {

inline Status plainReadError(uint32_t rank, uint64_t bytes, uint64_t address, int error) {
  return Status(HCCL_E_MEMORY,
                fmt::format("sendBuf of rank {}: {} bytes at {:#x} cannot be read: {}", rank, bytes,
                            address, std::strerror(error)),
                0, static_cast<int>(rank));
}

}  // namespace hccl::executor
