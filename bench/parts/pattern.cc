#include "bench/parts/pattern.h"

#include <algorithm>
#include <cstring>

#include "bench/parts/number.h"
#include "bench/parts/types.h"

namespace hccl::bench {

Pattern::Pattern(size_t elementBytes)
    : elementBytes_(elementBytes), twice_(2 * kPeriod * elementBytes) {}

void Pattern::set(uint64_t index, uint64_t bits) {
  // The element's bytes are the low ones: little-endian hosts only, like the library.
  std::memcpy(&twice_[index * elementBytes_], &bits, elementBytes_);
  std::memcpy(&twice_[(kPeriod + index) * elementBytes_], &bits, elementBytes_);
}

Pattern Pattern::input(HcclDataType type, std::optional<HcclReduceOp> op, uint32_t rank,
                       uint32_t ranks) {
  const TypeInfo& info = typeInfo(type);
  const bool reduces = op.has_value() && info.kind != Kind::Opaque;
  Pattern pattern(info.bytes);
  for (uint64_t i = 0; i < kPeriod; ++i) {
    pattern.set(i, reduces ? contribution(info, *op, rank, ranks, i) : mix(rank, i));
  }
  return pattern;
}

Pattern Pattern::reduced(HcclDataType type, HcclReduceOp op, uint32_t ranks) {
  const TypeInfo& info = typeInfo(type);
  Pattern pattern(info.bytes);
  for (uint64_t i = 0; i < kPeriod; ++i) pattern.set(i, combined(info, op, ranks, i));
  return pattern;
}

void Pattern::fill(void* target, uint64_t count, uint64_t phase) const {
  const std::byte* period = &twice_[phase % kPeriod * elementBytes_];
  auto* out = static_cast<std::byte*>(target);
  for (uint64_t done = 0; done < count; done += kPeriod) {
    const uint64_t now = std::min(kPeriod, count - done);
    std::memcpy(out + done * elementBytes_, period, now * elementBytes_);
  }
}

std::optional<uint64_t> Pattern::firstDifference(const void* actual, uint64_t count,
                                                 uint64_t phase) const {
  const std::byte* period = &twice_[phase % kPeriod * elementBytes_];
  const auto* in = static_cast<const std::byte*>(actual);
  for (uint64_t done = 0; done < count; done += kPeriod) {
    const uint64_t now = std::min(kPeriod, count - done);
    const std::byte* part = in + done * elementBytes_;
    if (std::memcmp(part, period, now * elementBytes_) == 0) continue;
    const auto [wrong, unused] = std::mismatch(part, part + now * elementBytes_, period);
    return done + static_cast<uint64_t>(wrong - part) / elementBytes_;
  }
  return std::nullopt;
}

uint64_t Pattern::bits(uint64_t index) const {
  uint64_t value = 0;
  std::memcpy(&value, &twice_[index % kPeriod * elementBytes_], elementBytes_);
  return value;
}

}  // namespace hccl::bench
