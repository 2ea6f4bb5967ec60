// Futex: waiting on a 32-bit word inside this process, with a deadline in monotonic time.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace hccl::runtime {

// Returns when the word is no longer `expected`, when woken, at `untilNs`, or by chance.
inline void futexWait(std::atomic<uint32_t>& word, uint32_t expected, uint64_t untilNs) {
  timespec until{};
  until.tv_sec = static_cast<time_t>(untilNs / 1000000000ULL);
  until.tv_nsec = static_cast<long>(untilNs % 1000000000ULL);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
          expected, untilNs == UINT64_MAX ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

inline void futexWake(std::atomic<uint32_t>& word, int threads) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, threads,
          nullptr, nullptr, 0);
}

}  // namespace hccl::runtime
