// copySmall: a few bytes without a call of memcpy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hccl::reduce {

// Copies `bytes` < 64 bytes between buffers that do not overlap.
inline void copySmall(void* to, const void* from, size_t bytes) {
  auto* t = static_cast<uint8_t*>(to);
  const auto* f = static_cast<const uint8_t*>(from);
  for (; bytes >= 16; bytes -= 16, t += 16, f += 16) std::memcpy(t, f, 16);
  if (bytes & 8) std::memcpy(t, f, 8), t += 8, f += 8;
  if (bytes & 4) std::memcpy(t, f, 4), t += 4, f += 4;
  if (bytes & 2) std::memcpy(t, f, 2), t += 2, f += 2;
  if (bytes & 1) *t = *f;
}

}  // namespace hccl::reduce
