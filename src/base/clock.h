// Time: a monotonic clock, the wall clock as HCCL prints it, and deadlines for every wait.
#pragma once

#include <time.h>

#include <climits>
#include <cstdint>
#include <string>

namespace hccl {

// CLOCK_MONOTONIC in nanoseconds (read from the vDSO: no system call).
inline uint64_t monotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

// Local wall clock in microseconds since the epoch.
uint64_t wallClockUs();
// "2026-11-30-10:34:11.123.456" in local time.
std::string wallClockText(uint64_t us = wallClockUs());
// "20261130103411123", the stamp of a plog file name.
std::string wallClockFileStamp(uint64_t us = wallClockUs());

// The point in monotonic time at which a wait gives up.
class Deadline {
 public:
  static Deadline never() { return Deadline(UINT64_MAX); }
  // `seconds` from now; not positive means "already expired": the wait tries exactly once.
  static Deadline after(double seconds) {
    if (!(seconds > 0)) return Deadline(monotonicNs());
    if (seconds > 3.0e9) return never();
    return Deadline(monotonicNs() + static_cast<uint64_t>(seconds * 1e9));
  }
  static Deadline atNs(uint64_t monotonic) { return Deadline(monotonic); }

  bool isNever() const { return ns_ == UINT64_MAX; }
  bool expired() const { return !isNever() && monotonicNs() >= ns_; }
  uint64_t ns() const { return ns_; }
  // The argument for poll() and epoll_wait(): -1 for never, otherwise rounded up, 0 once expired.
  int remainingMs() const {
    if (isNever()) return -1;
    const uint64_t now = monotonicNs();
    if (now >= ns_) return 0;
    const uint64_t ms = (ns_ - now + 999999) / 1000000;
    return ms > INT_MAX ? INT_MAX : static_cast<int>(ms);
  }
  double remainingSeconds() const {
    if (isNever()) return 1e300;
    const uint64_t now = monotonicNs();
    return now >= ns_ ? 0.0 : static_cast<double>(ns_ - now) * 1e-9;
  }
  Deadline earlier(Deadline other) const { return ns_ < other.ns_ ? *this : other; }

 private:
  explicit Deadline(uint64_t ns) : ns_(ns) {}
  uint64_t ns_;
};

}  // namespace hccl
