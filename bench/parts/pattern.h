// Data with a closed form. Every rank's input is a periodic sequence that depends on the rank and
// on the position modulo kPeriod, a prime, so that data that land at a wrong place are noticed. The
// result of a reduction is periodic too, and exact in every type: a check compares bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hccl/hccl_types.h"

namespace hccl::bench {

inline constexpr uint64_t kPeriod = 1021;

// One period of elements of a type.
class Pattern {
 public:
  // What `rank` of `ranks` contributes: any bits when nothing is reduced, else values whose
  // reduction by *op is exact whatever the order.
  static Pattern input(HcclDataType type, std::optional<HcclReduceOp> op, uint32_t rank,
                       uint32_t ranks);
  // The reduction of all ranks' inputs.
  static Pattern reduced(HcclDataType type, HcclReduceOp op, uint32_t ranks);

  // Writes `count` elements to `target`, beginning with position `phase` of the sequence.
  void fill(void* target, uint64_t count, uint64_t phase) const;
  // The index of the first of `count` elements that differs; nothing when all are right.
  std::optional<uint64_t> firstDifference(const void* actual, uint64_t count, uint64_t phase) const;
  // The bits of the element at position `index` of the sequence.
  uint64_t bits(uint64_t index) const;
  size_t elementBytes() const { return elementBytes_; }

 private:
  explicit Pattern(size_t elementBytes);
  void set(uint64_t index, uint64_t bits);

  size_t elementBytes_;
  std::vector<std::byte> twice_;  // two periods: one whole period follows any phase
};

}  // namespace hccl::bench
