// FloatGuard: the default floating-point environment (round to nearest, denormals kept, no traps)
// while a thread of the program advances plans, so that results do not depend on which thread it
// was.
#pragma once

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hccl::runtime {

class FloatGuard {
 public:
#if defined(__x86_64__)
  // The library computes in SSE and AVX registers only.
  FloatGuard() : before_(_mm_getcsr()) {
    if ((before_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
  }
  ~FloatGuard() {
    if ((before_ & ~kFlags) != kDefault) _mm_setcsr(before_);
  }

 private:
  static constexpr unsigned kFlags = 0x3f;
  static constexpr unsigned kDefault = 0x1f80;
  unsigned before_;
#else
  FloatGuard() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatGuard() {
    std::fesetenv(&before_);
  }

 private:
  std::fenv_t before_;
#endif
 public:
  FloatGuard(const FloatGuard&) = delete;
  FloatGuard& operator=(const FloatGuard&) = delete;
};

}  // namespace hccl::runtime
