// Finding: what the checker has to say about a wrong plan, in terms of a reader of plans.
#pragma once

#include <cstdint>
#include <string>

#include "src/plan/plan.h"

namespace hccl::verify {

enum class Fault : uint8_t {
  kMalformed,   // a step that no executor could run
  kDeadlock,    // a wait that nothing ends
  kUnmatched,   // a signal or a frame that nobody waits for, or of another size
  kRace,        // two accesses to the same memory in no order
  kUnguarded,   // a peer's memory is touched outside of what the peer has opened
  kUnwritten,   // a read of what nobody has written
  kWrongValue,  // a result, or an operand, is not what it must be
  kPlace,       // outside of a buffer or of staging
};

struct Finding {
  Fault fault = Fault::kMalformed;
  uint32_t rank = 0;
  uint64_t operation = 0;  // in a sequence of operations
  uint64_t iteration = 0;
  int64_t step = -1;  // index into Plan::steps; -1: the end of the operation
  std::string where;  // slice
  std::string expected;
  std::string found;

  // "rank 3 step 17 (Combine, round 2, iteration 0), input [128, 256): expected ..., found ..."
  std::string text(const plan::Plan& plan) const;
};

const char* faultName(Fault fault);

}  // namespace hccl::verify
