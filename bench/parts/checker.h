// Fills buffers with known data and compares results with their closed form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "bench/parts/operation.h"
#include "bench/parts/options.h"
#include "bench/parts/pattern.h"

namespace hccl::bench {

class Checker {
 public:
  Checker(const Operation& operation, CheckMode mode) : operation_(operation), mode_(mode) {}

  // Poisons the receive buffer and writes the input.
  void prepare(const Job& job, const Buffers& buffers);
  // Whether the receive buffer holds what it must. A wrong result is told on standard output.
  bool isRight(const Job& job, const Buffers& buffers);

 private:
  const Pattern& pattern(const Job& job, uint32_t source);
  void tell(const Job& job, const Segment& segment, const void* actual, uint64_t wrong);

  const Operation& operation_;
  CheckMode mode_;
  std::map<uint32_t, Pattern> patterns_;  // by source; a program has one type and reduction
};

}  // namespace hccl::bench
