// Clocks: for every step of a plan in every iteration, how many steps of each lane are certain to
// have finished before it begins.
#pragma once

#include <vector>

#include "src/plan/plan.h"

namespace hccl::verify {

class Clocks {
 public:
  // Dependencies in a circle give wellFormed() == false.
  Clocks(const plan::Plan& plan, uint64_t iterations);

  bool wellFormed() const { return wellFormed_; }
  // A point: the step's place in its lane, counted over all iterations.
  uint32_t ordinal(uint32_t step, uint64_t c) const {
    return static_cast<uint32_t>(c * laneLength_[plan_.steps[step].lane] + positionOf_[step]);
  }
  // True when the step at (lane, ordinal) has finished before `step` of iteration c begins.
  bool before(uint16_t lane, uint32_t ordinal, uint32_t step, uint64_t c) const {
    return clock(step, c)[lane] > ordinal;
  }

 private:
  const uint32_t* clock(uint32_t step, uint64_t c) const {
    return &clocks_[(c * plan_.steps.size() + step) * plan_.lanes];
  }

  bool ready(const plan::Step& step, const std::vector<uint32_t>& next) const;
  void visit(uint32_t step, uint64_t c);

  const plan::Plan& plan_;
  bool wellFormed_ = true;
  std::vector<uint32_t> laneLength_;
  std::vector<uint32_t> positionOf_;
  std::vector<uint32_t> clocks_;
  std::vector<uint32_t> known_;  // by lane: what its next step knows
};

}  // namespace hccl::verify
