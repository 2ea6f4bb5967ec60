// The default floating-point environment for the life of an object.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace hccl::reduce {

// Round to nearest, no flushing of denormals, exceptions masked; restores the caller's on exit.
// Costs one read of the control register when the caller's is the default, as in the library's
// threads.
class DefaultFloatEnvironment {
 public:
#if defined(__x86_64__)
  DefaultFloatEnvironment() : saved_(_mm_getcsr()) {
    if (changed()) _mm_setcsr(kDefault);
  }
  ~DefaultFloatEnvironment() {
    if (changed()) _mm_setcsr(saved_);
  }
#else
  DefaultFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() {
    std::fesetenv(&saved_);
  }
#endif
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kDefault = 0x1F80;
  static constexpr unsigned kFlags = 0x003F;  // sticky exception flags: no influence on results
  bool changed() const {
    return (saved_ & ~kFlags) != kDefault;
  }

  unsigned saved_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace hccl::reduce
