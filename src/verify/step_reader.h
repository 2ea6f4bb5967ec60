// StepReader: what the steps of a world touch, in iteration c: lengths, contacts, accesses.
#pragma once

#include "src/verify/memory_map.h"

namespace hccl::verify {

class StepReader {
 public:
  StepReader(const World& world, const MemoryMap& map) : world_(world), map_(map) {}

  uint64_t length(uint32_t rank, const plan::Segment& segment, uint64_t c) const {
    return world_.geometry[rank].length(segment.lengthOutput, segment.lengthBlock, segment.run, c);
  }
  const plan::Segment& segment(uint32_t rank, const plan::Step& step, uint32_t i) const {
    return world_.plans[rank].segmentPool[step.segment + i];
  }
  // A contact without data is skipped by both ends, save the first, which carries the signature.
  bool hasContact(uint32_t rank, const plan::Step& step, uint64_t c) const {
    if (c == 0) return true;
    for (uint32_t i = 0; i < step.segments; ++i) {
      if (length(rank, segment(rank, step, i), c) > 0) return true;
    }
    return false;
  }
  Place operand(uint32_t rank, const plan::Step& step, const plan::Segment& segment, uint32_t o,
                uint64_t c) const {
    const plan::Plan& plan = world_.plans[rank];
    return map_.operand(rank, plan.operandRanks[step.operand + o], plan.refs[segment.refs + o],
                        length(rank, segment, c), c);
  }

  // Calls visit(segment index, operand index, place, write) for all memory that the step touches.
  template <typename Visit>
  void forAccesses(uint32_t rank, const plan::Step& step, uint64_t c, Visit visit) const;

 private:
  template <typename Visit>
  void forCombine(uint32_t rank, const plan::Step& step, const plan::Segment& segment, uint32_t i,
                  uint64_t c, Visit visit) const;

  const World& world_;
  const MemoryMap& map_;
};

// A copy onto itself is no access.
template <typename Visit>
void StepReader::forCombine(uint32_t rank, const plan::Step& step, const plan::Segment& segment,
                            uint32_t i, uint64_t c, Visit visit) const {
  uint32_t targets = 0;
  for (uint32_t o = 0; o < step.targets; ++o) {
    const Place to = operand(rank, step, segment, o, c);
    if (step.sources == 1 && to == operand(rank, step, segment, step.targets, c)) continue;
    visit(i, o, to, true);
    ++targets;
  }
  if (targets == 0) return;
  for (uint32_t o = step.targets; o < uint32_t{step.targets} + step.sources; ++o) {
    visit(i, o, operand(rank, step, segment, o, c), false);
  }
}

template <typename Visit>
void StepReader::forAccesses(uint32_t rank, const plan::Step& step, uint64_t c, Visit visit) const {
  const bool out = step.kind != plan::StepKind::kStageIn;
  for (uint32_t i = 0; i < step.segments; ++i) {
    const plan::Segment& s = segment(rank, step, i);
    const uint64_t elements = length(rank, s, c);
    if (elements == 0) continue;
    switch (step.kind) {
      case plan::StepKind::kStageIn:
      case plan::StepKind::kStageOut:
      case plan::StepKind::kStageAside: {
        if (!map_.staged(rank, out)) return;
        if (step.kind == plan::StepKind::kStageAside && !map_.aliased(rank)) return;
        const uint32_t block = world_.plans[rank].refs[s.refs].block;
        const Place user = map_.user(rank, out, block, elements, c);
        const Place window = map_.window(rank, out, block, elements, c);
        visit(i, 0, out ? user : window, true);
        visit(i, 1, out ? window : user, false);
        break;
      }
      case plan::StepKind::kCombine:
        forCombine(rank, step, s, i, c, visit);
        break;
      case plan::StepKind::kPut:
        visit(i, 0, operand(rank, step, s, 0, c), false);
        break;
      case plan::StepKind::kTake:
        visit(i, 0, operand(rank, step, s, 0, c), true);
        break;
      default:
        return;
    }
  }
}

}  // namespace hccl::verify
