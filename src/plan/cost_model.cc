#include "src/plan/cost_model.h"

#include <algorithm>

namespace hccl::plan {
namespace {

constexpr CostClass kClasses[] = {CostClass::kShared, CostClass::kRdma, CostClass::kTcp};

bool crossesServers(const Group& group, const Topology& topology) {
  return std::any_of(group.ranks.begin(), group.ranks.end(), [&](uint32_t rank) {
    return topology.serverOf[rank] != topology.serverOf[group.ranks[0]];
  });
}

}  // namespace

const char* costClassName(CostClass cls) {
  static const char* const names[] = {"shared", "rdma", "tcp"};
  return names[static_cast<size_t>(cls)];
}

std::optional<CostClass> costClassOf(std::string_view name) {
  for (CostClass cls : kClasses) {
    if (name == costClassName(cls)) return cls;
  }
  return std::nullopt;
}

LinkConstants constantsOf(CostClass cls) {
  switch (cls) {
    case CostClass::kShared:
      return {1.5e-6, 1.0 / 6e9, 1.0 / 12e9};
    case CostClass::kRdma:
      return {5e-6, 1.0 / 25e9, 1.0 / 12e9};
    case CostClass::kTcp:
      break;
  }
  return {25e-6, 1.0 / 2e9, 1.0 / 12e9};
}

double estimate(const OpDesc& op, const Topology& topology, const Choice& choice, uint64_t bytes,
                const LevelClasses& classes) {
  const Schedule schedule = compose(op, topology, choice);
  double seconds = 0;
  for (const Stage& stage : schedule.stages) {
    double slowest = 0;
    for (const Group& group : stage.groups) {
      size_t blocks = 0;
      for (const std::vector<uint32_t>& part : group.blocks) blocks += part.size();
      const double data = static_cast<double>(bytes) * static_cast<double>(blocks) /
                          static_cast<double>(schedule.blocks);
      const LinkConstants link =
          constantsOf(crossesServers(group, topology) ? classes.between : classes.inside);
      const Cost cost = stage.row->algorithm->cost(argsOf(stage, group));
      slowest = std::max(slowest, cost.steps * link.alpha +
                                      data * (cost.volume * link.beta + cost.reduced * link.gamma));
    }
    seconds += slowest;
  }
  return seconds;
}

}  // namespace hccl::plan
