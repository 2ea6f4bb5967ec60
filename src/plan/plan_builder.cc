#include "src/plan/plan_builder.h"

namespace hccl::plan {

uint16_t PlanBuilder::lane(uint32_t peer, bool receive) {
  const auto [it, fresh] = lanes_.emplace(std::pair(peer, receive), plan.lanes);
  if (fresh) ++plan.lanes;
  return it->second;
}

int32_t PlanBuilder::emit(Step step, const std::vector<uint32_t>& operandRanks,
                          const std::set<uint32_t>& deps) {
  step.round = static_cast<uint16_t>(round_);
  step.operand = static_cast<uint32_t>(plan.operandRanks.size());
  plan.operandRanks.insert(plan.operandRanks.end(), operandRanks.begin(), operandRanks.end());
  step.dep = static_cast<uint32_t>(plan.deps.size());
  for (uint32_t dep : deps) {
    if (plan.steps[dep].lane != step.lane) plan.deps.push_back(dep);  // own lane runs in order
  }
  step.deps = static_cast<uint32_t>(plan.deps.size()) - step.dep;
  plan.steps.push_back(step);
  return static_cast<int32_t>(plan.steps.size()) - 1;
}

// Segments of a move, neighbours merged where all operands allow it; the same on all ranks.
std::vector<std::pair<uint32_t, uint32_t>> PlanBuilder::runsOf(const Move& move) const {
  std::vector<std::pair<uint32_t, uint32_t>> runs;  // first segment, length
  for (uint32_t s = 0; s < move.segments(); ++s) {
    bool joins = plan.vector && !runs.empty();
    for (size_t o = 0; joins && o < move.operands(); ++o) {
      const Ref& last = move.ref(s - 1, o);
      const Ref& next = move.ref(s, o);
      joins = last.buffer == next.buffer && last.block + 1 == next.block;
    }
    if (joins) {
      ++runs.back().second;
    } else {
      runs.emplace_back(s, 1);
    }
  }
  return runs;
}

void PlanBuilder::lengthOf(const Move& move, uint32_t s, Segment& segment) const {
  for (size_t o = 0; o < move.operands(); ++o) {
    if (plan.pairRelative && move.rankOf(o) != plan.rank) continue;
    segment.lengthBlock = move.ref(s, o).block;
    segment.lengthOutput = move.ref(s, o).buffer == Buffer::kOutput;
    return;
  }
}

void PlanBuilder::finish() {
  plan.laneSteps.resize(plan.lanes);
  for (uint32_t s = 0; s < plan.steps.size(); ++s) plan.laneSteps[plan.steps[s].lane].push_back(s);
}

}  // namespace hccl::plan
