// Prefetch: takes a cache line before it is written, from a core that may have read it.
#pragma once

namespace hccl {

inline void prefetchForWriting(const void* line) {
#if defined(__x86_64__)
  // The builtin asks for a shared copy only, unless the target is told to have this instruction.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace hccl
