#include "src/base/ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hccl {
namespace {

bool hasSteadyCounter() {
#if defined(__x86_64__)
  constexpr unsigned kPowerManagement = 0x80000007;
  constexpr unsigned kInvariant = 1U << 8;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(kPowerManagement, &a, &b, &c, &d) != 0 && (d & kInvariant) != 0;
#else
  return false;
#endif
}

}  // namespace

const bool Ticks::hasCounter_ = hasSteadyCounter();
const Ticks::Pair Ticks::start_ = Ticks::both();

Ticks::Pair Ticks::both() {
  return {now(), monotonicNs()};
}

Ticks::Converter::Converter() {
  const Pair end = both();
  if (end.ticks > start_.ticks) {
    rate_ = static_cast<double>(end.ns - start_.ns) / static_cast<double>(end.ticks - start_.ticks);
  }
}

uint64_t Ticks::Converter::toNs(uint64_t ticks) const {
  const auto sinceStart = static_cast<double>(static_cast<int64_t>(ticks - start_.ticks));
  return start_.ns + static_cast<uint64_t>(static_cast<int64_t>(sinceStart * rate_));
}

}  // namespace hccl
