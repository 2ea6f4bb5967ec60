#include "src/verify/sim_case.h"

#include <chrono>

#include "src/verify/closed_form.h"

namespace hccl::verify {
namespace {

// Up to here all pairs of ranks are looked at, so that any schedule and link class will do.
constexpr uint32_t kDenseRanks = 256;

double seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

plan::Topology topologyOf(const SimCase& what) {
  std::vector<uint32_t> serverOf(what.ranks);
  for (uint32_t r = 0; r < what.ranks; ++r) serverOf[r] = r / what.perServer;
  return plan::Topology::fromServers(serverOf);
}

bool usable(const plan::AlgorithmRow* row, plan::StageOp op, uint32_t members) {
  return row != nullptr && row->algorithm->supports(op) &&
         row->algorithm->supportsSize(op, members);
}

WorldSpec specOf(const SimCase& what, const plan::Topology& topology) {
  WorldSpec spec;
  spec.op.type = what.type;
  spec.elementSize = 1;  // lengths are bytes
  spec.op.count = plan::isVectorOp(what.type) ? what.bytes : what.bytes / what.ranks;
  spec.topology = topology;
  spec.chunkBytes = what.chunkBytes;
  spec.bufferBytes = 1ULL << 60;
  const plan::AlgorithmRow* row = plan::findAlgorithm(what.algorithm);
  if (what.inside.empty()) {
    spec.choice.level0 = row;
    spec.choice.oneShot0 = what.oneShot;
  } else {
    spec.choice.level0 = plan::findAlgorithm(what.inside);
    spec.choice.level1 = row;
    spec.choice.oneShot1 = what.oneShot;
  }
  spec.link = [serverOf = topology.serverOf, direct = what.direct](uint32_t a, uint32_t b) {
    return direct && serverOf[a] == serverOf[b] ? plan::PeerLink::kDirect
                                                : plan::PeerLink::kMessage;
  };
  return spec;
}

std::string unusable(const SimCase& what) {
  const plan::StageOp op = plan::stageOpOf(what.type);
  const plan::AlgorithmRow* row = plan::findAlgorithm(what.algorithm);
  if (what.ranks < 2) return "there must be two ranks at least";
  if (what.perServer == 0 || what.ranks % what.perServer != 0) {
    return "the ranks do not fill the servers evenly";
  }
  const uint32_t members = what.inside.empty() ? what.ranks : what.ranks / what.perServer;
  if (!usable(row, op, members)) {
    return what.algorithm + " does not do this operation on " + std::to_string(members) +
           " members";
  }
  if (what.oneShot && !row->algorithm->supportsOneShot(op)) {
    return what.algorithm + " has no one-shot form of this operation";
  }
  if (what.inside.empty()) return {};
  if (plan::findAlgorithm(what.inside) == nullptr) return "no algorithm " + what.inside;
  if (what.perServer == 1 || members == 1 || op == plan::StageOp::kAllToAll) {
    return "two levels need several servers of several ranks";
  }
  return {};
}

}  // namespace

bool oneShotByDefault(HcclCMDType type, const plan::AlgorithmRow& row, uint64_t bytes) {
  if (!row.algorithm->supportsOneShot(plan::stageOpOf(type))) return false;
  return bytes <= (type == HCCL_CMD_BROADCAST ? 2ULL << 20 : 256ULL << 10);
}

SimRow runCase(const SimCase& what, const NetworkSpec& network, std::vector<Span>* spans) {
  SimRow row;
  row.what = what;
  row.error = unusable(what);
  if (!row.error.empty()) return row;
  const plan::Topology topology = topologyOf(what);
  const WorldSpec spec = specOf(what, topology);
  const plan::StageOp op = plan::stageOpOf(what.type);
  const LevelCost& link = what.perServer == 1 ? network.between : network.inside;
  const bool oneLevel = what.perServer == 1 || what.perServer == what.ranks;
  if (oneLevel && network.uplink == 0) {
    row.closedForm = closedForm(what.algorithm, op, what.oneShot, what.ranks,
                                static_cast<double>(what.bytes), link, network.gamma);
  }
  const auto begin = std::chrono::steady_clock::now();
  const bool flat = what.inside.empty() && !what.direct && what.chunkBytes >= what.bytes;
  if (what.fold && flat && spans == nullptr) {
    row.symmetry = confirmSymmetry(*spec.choice.level0->algorithm,
                                   {op, what.ranks, 0, what.oneShot}, what.confirmEvery);
  }
  Network links(network, topology);
  std::chrono::steady_clock::time_point planned;
  if (row.symmetry != Symmetry::kNone) {
    World world;
    world.ranks = 1;
    world.plans.push_back(
        templatePlan(spec.op, *spec.choice.level0, what.oneShot, what.ranks, row.symmetry));
    setGeometry(spec, world);
    planned = std::chrono::steady_clock::now();
    row.planSeconds = seconds(begin);
    row.result = simulateLockstep(world.plans[0], world.geometry[0], what.ranks, row.symmetry,
                                  std::move(links));
  } else {
    const World world =
        flat && what.ranks > kDenseRanks ? buildSparseWorld(spec) : buildWorld(spec);
    planned = std::chrono::steady_clock::now();
    row.planSeconds = seconds(begin);
    row.result = simulate(world, std::move(links), spans);
  }
  row.runSeconds = seconds(planned);
  row.error = row.result.error;
  return row;
}

}  // namespace hccl::verify
