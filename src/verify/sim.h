// The simulator: lowered plans in virtual time. Plans and their waits are those that the executor
// runs; only the duration of a transfer or a reduction is a model (network.h).
#pragma once

#include <string>
#include <vector>

#include "src/verify/network.h"
#include "src/verify/world.h"

namespace hccl::verify {

struct Span {  // of one step, for timelines
  uint32_t rank = 0;
  uint16_t lane = 0;
  plan::StepKind kind = plan::StepKind::kCombine;
  uint32_t peer = 0;
  double begin = 0;
  double end = 0;
};

struct SimResult {
  double seconds = 0;      // when the last rank ends
  double firstEnd = 0;     // when the first one does
  uint64_t steps = 0;      // executed
  uint64_t transfers = 0;  // over links
  std::string error;       // not empty: a rank could not go on
};

// Any plans, event by event in the order of time. `spans`, when given, receives every step that
// takes time.
SimResult simulate(const World& world, Network network, std::vector<Span>* spans = nullptr);

}  // namespace hccl::verify
