// Ticks: time stamps for the hot path. Where the processor has a counter that runs at one rate
// whatever it does, reading it costs a third of what the monotonic clock costs.
#pragma once

#include <cstdint>

#include "src/base/clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace hccl {

class Ticks {
 public:
  static uint64_t now() {
#if defined(__x86_64__)
    if (hasCounter_) return __rdtsc();
#endif
    return monotonicNs();
  }

  // Turns ticks of this process into nanoseconds of the monotonic clock. The rate is what was
  // measured from the start of the library to the making of the converter.
  class Converter {
   public:
    Converter();
    uint64_t toNs(uint64_t ticks) const;

   private:
    double rate_ = 1;
  };

 private:
  struct Pair {
    uint64_t ticks;
    uint64_t ns;
  };
  static Pair both();

  static const bool hasCounter_;
  static const Pair start_;
};

}  // namespace hccl
