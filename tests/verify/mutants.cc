#include "tests/verify/mutants.h"

#include <fmt/format.h>

#include <algorithm>

namespace hccl::test {

using plan::isStage;
using plan::Plan;
using plan::Step;
using plan::StepKind;

namespace {

bool isData(StepKind kind) {
  return kind == StepKind::kCombine || kind == StepKind::kPut || kind == StepKind::kTake ||
         plan::isStage(kind);
}

void replaceDeps(Plan& plan, const std::vector<std::vector<uint32_t>>& deps) {
  plan.deps.clear();
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    plan.steps[s].dep = static_cast<uint32_t>(plan.deps.size());
    plan.steps[s].deps = static_cast<uint32_t>(deps[s].size());
    plan.deps.insert(plan.deps.end(), deps[s].begin(), deps[s].end());
  }
}

std::vector<std::vector<uint32_t>> depsOf(const Plan& plan) {
  std::vector<std::vector<uint32_t>> all;
  for (const Step& step : plan.steps) {
    const auto first = plan.deps.begin() + step.dep;
    all.emplace_back(first, first + step.deps);
  }
  return all;
}

void drop(Plan& plan, uint32_t step) {
  std::erase(plan.laneSteps[plan.steps[step].lane], step);
  auto deps = depsOf(plan);
  for (auto& list : deps) std::erase(list, step);
  replaceDeps(plan, deps);
}

void duplicate(Plan& plan, uint32_t step) {
  std::vector<uint32_t>& lane = plan.laneSteps[plan.steps[step].lane];
  const auto at = std::find(lane.begin(), lane.end(), step);
  lane.insert(at + 1, static_cast<uint32_t>(plan.steps.size()));
  plan.steps.push_back(Step(plan.steps[step]));
}

void swapWithNext(Plan& plan, uint32_t step) {
  std::vector<uint32_t>& lane = plan.laneSteps[plan.steps[step].lane];
  const auto at = std::find(lane.begin(), lane.end(), step);
  std::swap(*at, *(at + 1));
}

// Segments and refs may be shared between steps; the mutant gets its own.
plan::Segment& ownSegment(Plan& plan, const Mutation& m) {
  Step& step = plan.steps[m.step];
  const auto first = static_cast<uint32_t>(plan.segmentPool.size());
  for (uint32_t i = 0; i < step.segments; ++i) {
    plan.segmentPool.push_back(plan::Segment(plan.segmentPool[step.segment + i]));
  }
  step.segment = first;
  plan::Segment& segment = plan.segmentPool[first + m.segment];
  const auto refs = static_cast<uint32_t>(plan.refs.size());
  for (uint32_t o = 0; o < uint32_t{step.targets} + step.sources; ++o) {
    plan.refs.push_back(plan::Ref(plan.refs[segment.refs + o]));
  }
  segment.refs = refs;
  return segment;
}

}  // namespace

const char* changeName(Change change) {
  static const char* const names[kChanges] = {
      "drop step",   "duplicate step", "swap steps",   "drop dependency", "shift block",
      "swap buffer", "shift rank",     "shift length", "lengthen run",    "shift peer"};
  return names[static_cast<size_t>(change)];
}

std::string Mutation::text(const verify::World& world) const {
  const Step& s = world.plans[rank].steps[step];
  return fmt::format("{} {} rank {} step {} ({}, lane {}, round {}) segment {} detail {}",
                     world.name, changeName(change), rank, step, plan::stepName(s.kind), s.lane,
                     s.round, segment, detail);
}

std::vector<Mutation> mutationsOf(const verify::World& world, uint32_t rank) {
  std::vector<Mutation> all;
  const Plan& plan = world.plans[rank];
  for (uint32_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const auto add = [&](Change change, uint32_t detail = 0, uint32_t segment = 0) {
      all.push_back({change, rank, s, detail, segment});
    };
    add(Change::kDropStep);
    add(Change::kDuplicateStep);
    if (plan.laneSteps[step.lane].back() != s) add(Change::kSwapSteps);
    for (uint32_t d = 0; d < step.deps; ++d) add(Change::kDropDependency, d);
    if (!isStage(step.kind) && step.kind != StepKind::kCombine) add(Change::kShiftPeer);
    // The first and the last segment.
    for (uint32_t i = 0; i < step.segments; i += std::max(step.segments - 1, 1U)) {
      add(Change::kShiftLength, 0, i);
      if (plan.vector) add(Change::kLengthenRun, 0, i);
      if (!isData(step.kind)) continue;
      const uint32_t operands = isStage(step.kind) ? 1 : uint32_t{step.targets} + step.sources;
      for (uint32_t o = 0; o < operands; ++o) {
        add(Change::kShiftBlock, o, i);
        if (isStage(step.kind)) continue;  // the kind names the buffers
        add(Change::kSwapBuffer, o, i);
        if (step.kind == StepKind::kCombine && i == 0) add(Change::kShiftRank, o, i);
      }
    }
  }
  return all;
}

verify::World mutate(const verify::World& world, const Mutation& m) {
  verify::World mutant = world;
  Plan& plan = mutant.plans[m.rank];
  const uint32_t ranks = world.ranks;
  switch (m.change) {
    case Change::kDropStep:
      drop(plan, m.step);
      break;
    case Change::kDuplicateStep:
      duplicate(plan, m.step);
      break;
    case Change::kSwapSteps:
      swapWithNext(plan, m.step);
      break;
    case Change::kDropDependency: {
      auto deps = depsOf(plan);
      deps[m.step].erase(deps[m.step].begin() + m.detail);
      replaceDeps(plan, deps);
      break;
    }
    case Change::kShiftBlock: {
      plan::Ref& ref = plan.refs[ownSegment(plan, m).refs + m.detail];
      const uint32_t blocks =
          ref.buffer == plan::Buffer::kScratch ? plan.scratchBlocks : plan.blocks;
      ref.block = blocks > 1 ? (ref.block + 1) % blocks : ref.block + 1;
      break;
    }
    case Change::kSwapBuffer: {
      plan::Ref& ref = plan.refs[ownSegment(plan, m).refs + m.detail];
      ref.buffer =
          ref.buffer == plan::Buffer::kInput ? plan::Buffer::kOutput : plan::Buffer::kInput;
      break;
    }
    case Change::kShiftRank: {
      uint32_t& r = plan.operandRanks[plan.steps[m.step].operand + m.detail];
      r = (r + 1) % ranks;
      break;
    }
    case Change::kShiftLength: {
      plan::Segment& segment = ownSegment(plan, m);
      segment.lengthBlock = (segment.lengthBlock + 1) % plan.blocks;
      break;
    }
    case Change::kLengthenRun:
      ++ownSegment(plan, m).run;
      break;
    case Change::kShiftPeer: {
      uint32_t& peer = plan.steps[m.step].peer;
      do peer = (peer + 1) % ranks;
      while (peer == m.rank);
      break;
    }
  }
  return mutant;
}

}  // namespace hccl::test
