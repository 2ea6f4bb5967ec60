// Any number of members seen as a power of two: the first ones form pairs, of which one represents
// both. Used by the algorithms whose partners differ in one bit.
#pragma once

#include <cstdint>

namespace hccl::algorithms {

struct Pairs {
  explicit Pairs(uint32_t size) {
    while (uint64_t{2} << steps <= size) ++steps;
    block = 1U << steps;
    paired = 2 * (size - block);
  }
  uint32_t steps = 0;
  uint32_t block = 1;   // representatives
  uint32_t paired = 0;  // members 0..paired-1 form pairs

  bool inPair(uint32_t r) const { return r < paired; }
  bool isOdd(uint32_t r) const { return inPair(r) && r % 2 == 1; }
  // Of a representative (even member of a pair, or single).
  uint32_t number(uint32_t r) const { return inPair(r) ? r / 2 : r - paired / 2; }
  uint32_t member(uint32_t number) const {
    return number < paired / 2 ? 2 * number : number + paired / 2;
  }
};

}  // namespace hccl::algorithms
