#include "src/verify/clocks.h"

#include <algorithm>

namespace hccl::verify {

Clocks::Clocks(const plan::Plan& plan, uint64_t iterations)
    : plan_(plan), positionOf_(plan.steps.size()) {
  const size_t lanes = plan.lanes;
  for (const std::vector<uint32_t>& steps : plan.laneSteps) {
    laneLength_.push_back(static_cast<uint32_t>(steps.size()));
    for (uint32_t i = 0; i < steps.size(); ++i) positionOf_[steps[i]] = i;
  }
  size_t all = 0;
  for (uint32_t length : laneLength_) all += length;
  clocks_.assign(iterations * plan.steps.size() * lanes, 0);
  known_.assign(lanes * lanes, 0);
  std::vector<uint32_t> next(lanes);
  for (uint64_t c = 0; c < iterations; ++c) {
    std::fill(next.begin(), next.end(), 0);
    size_t done = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t l = 0; l < lanes; ++l) {
        const std::vector<uint32_t>& steps = plan.laneSteps[l];
        while (next[l] < steps.size() && ready(plan.steps[steps[next[l]]], next)) {
          visit(steps[next[l]++], c);
          ++done;
          moved = true;
        }
      }
    }
    if (done < all) {
      wellFormed_ = false;
      return;
    }
  }
}

bool Clocks::ready(const plan::Step& step, const std::vector<uint32_t>& next) const {
  for (uint32_t i = 0; i < step.deps; ++i) {
    const uint32_t dep = plan_.deps[step.dep + i];
    if (next[plan_.steps[dep].lane] <= positionOf_[dep]) return false;
  }
  return true;
}

void Clocks::visit(uint32_t s, uint64_t c) {
  const size_t lanes = plan_.lanes;
  const plan::Step& step = plan_.steps[s];
  uint32_t* now = &known_[step.lane * lanes];
  if (positionOf_[s] == 0 && c >= 2) {
    // Staging has two slots: all lanes have finished the iteration before the last.
    for (size_t l = 0; l < lanes; ++l) {
      now[l] = std::max(now[l], static_cast<uint32_t>((c - 1) * laneLength_[l]));
    }
  }
  for (uint32_t i = 0; i < step.deps; ++i) {
    const uint32_t dep = plan_.deps[step.dep + i];
    const uint32_t* theirs = clock(dep, c);
    for (size_t l = 0; l < lanes; ++l) now[l] = std::max(now[l], theirs[l]);
    uint32_t& own = now[plan_.steps[dep].lane];
    own = std::max(own, ordinal(dep, c) + 1);
  }
  std::copy(now, now + lanes, &clocks_[(c * plan_.steps.size() + s) * lanes]);
  now[step.lane] = std::max(now[step.lane], ordinal(s, c) + 1);
}

}  // namespace hccl::verify
