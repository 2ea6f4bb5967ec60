// PlanBuilder: appends steps, segments and dependencies to a plan.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "src/plan/plan.h"

namespace hccl::plan {

class PlanBuilder {
 public:
  Plan plan;

  void setRound(uint32_t round) { round_ = round; }

  // The lane of messages from or to `peer`.
  uint16_t lane(uint32_t peer, bool receive);

  // Appends the step; dependencies inside its own lane are implied. Returns its index.
  int32_t emit(Step step, const std::vector<uint32_t>& operandRanks,
               const std::set<uint32_t>& deps = {});

  // Sets the step's segments: for each run of the move's blocks the refs that `pick(first segment)`
  // returns.
  template <typename Pick>
  void segments(Step& step, const Move& move, Pick pick) {
    step.segment = static_cast<uint32_t>(plan.segmentPool.size());
    for (const auto& [first, length] : runsOf(move)) {
      Segment segment;
      segment.run = length;
      segment.refs = static_cast<uint32_t>(plan.refs.size());
      lengthOf(move, first, segment);
      for (const Ref& ref : pick(first)) plan.refs.push_back(ref);
      plan.segmentPool.push_back(segment);
    }
    step.segments = static_cast<uint32_t>(plan.segmentPool.size()) - step.segment;
  }
  // For steps that only synchronise: the lengths, no operands.
  void segments(Step& step, const Move& move) {
    segments(step, move, [](uint32_t) { return std::vector<Ref>{}; });
  }

  // Sorts the steps into lanes.
  void finish();

 private:
  std::vector<std::pair<uint32_t, uint32_t>> runsOf(const Move& move) const;
  void lengthOf(const Move& move, uint32_t segment, Segment& out) const;

  uint32_t round_ = 0;
  std::map<std::pair<uint32_t, bool>, uint16_t> lanes_;
};

}  // namespace hccl::plan
