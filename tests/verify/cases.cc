#include "tests/verify/cases.h"

#include <fmt/format.h>

#include <algorithm>

namespace hccl::test {
namespace {

using plan::StageOp;

bool fits(const plan::AlgorithmRow& row, StageOp op, uint32_t members) {
  return row.algorithm->supports(op) && row.algorithm->supportsSize(op, members);
}

// What an operation does inside of the servers when it has two levels.
std::vector<StageOp> intraOps(HcclCMDType type) {
  switch (plan::stageOpOf(type)) {
    case StageOp::kReduceScatter:
      return {StageOp::kReduceScatter};
    case StageOp::kAllGather:
      return {StageOp::kAllGather};
    case StageOp::kScatter:
      return {StageOp::kScatter};
    case StageOp::kBroadcast:
      return {StageOp::kScatter, StageOp::kAllGather};
    case StageOp::kReduce:
      return {StageOp::kReduceScatter, StageOp::kGather};
    default:
      return {StageOp::kReduceScatter, StageOp::kAllGather};
  }
}

// A stage block a member, so that a server's block is all of a plane.
bool fitsInside(const plan::AlgorithmRow& row, HcclCMDType type, uint32_t members) {
  const std::vector<StageOp> ops = intraOps(type);
  return std::all_of(ops.begin(), ops.end(), [&](StageOp op) {
    return fits(row, op, members) && row.algorithm->blocks({op, members, 0, false}) == members;
  });
}

}  // namespace

std::string Case::text() const {
  static const char* const mixes[] = {"direct", "message", "mixed"};
  std::string servers;
  for (const auto& server : spec.topology.servers) servers += fmt::format(" {}", server.size());
  return fmt::format(
      "{} {}{}{} servers{} {} count {} root {} chunk {}", plan::opName(spec.op.type),
      spec.choice.level0->token,
      spec.choice.level1 != nullptr ? "-" + std::string(spec.choice.level1->token) : std::string(),
      spec.choice.oneShot() ? " one-shot" : "", servers, mixes[static_cast<size_t>(mix)],
      spec.op.count, spec.op.root, spec.chunkBytes);
}

const std::vector<HcclCMDType>& collectiveOps() {
  static const std::vector<HcclCMDType> ops = {
      HCCL_CMD_ALLREDUCE,  HCCL_CMD_REDUCE,           HCCL_CMD_BROADCAST,   HCCL_CMD_REDUCE_SCATTER,
      HCCL_CMD_ALLGATHER,  HCCL_CMD_SCATTER,          HCCL_CMD_ALLTOALL,    HCCL_CMD_ALLTOALLV,
      HCCL_CMD_ALLTOALLVC, HCCL_CMD_REDUCE_SCATTER_V, HCCL_CMD_ALLGATHER_V, HCCL_CMD_BARRIER};
  return ops;
}

namespace {

class Choices {
 public:
  Choices(HcclCMDType type, const plan::Topology& topology)
      : type_(type), topology_(topology), op_(plan::stageOpOf(type)) {}

  std::vector<plan::Choice> all() {
    flat();
    const bool levels = topology_.servers.size() > 1 && op_ != StageOp::kAllToAll;
    if (levels) spanning();
    if (levels && topology_.uniform() && topology_.servers[0].size() > 1) {
      twoLevels();
      if (topology_.superPods.size() > 1 && topology_.uniformSuperPods()) threeLevels();
    }
    return std::move(choices_);
  }

 private:
  bool plain(const plan::AlgorithmRow& row) const { return !row.algorithm->spansLevels(); }

  void flat() {
    const uint32_t ranks = topology_.rankCount;
    const bool unequal = type_ == HCCL_CMD_ALLTOALLV || type_ == HCCL_CMD_ALLTOALLVC;
    for (const plan::AlgorithmRow& row : plan::algorithmRows()) {
      if (!plain(row) || !fits(row, op_, ranks)) continue;
      if (row.algorithm->relays() && unequal) continue;
      // A single rank copies, which the mesh does.
      if (ranks == 1 && row.token != std::string("fullmesh")) continue;
      plan::Choice choice;
      choice.level0 = &row;
      choices_.push_back(choice);
      if (ranks == 1 || !row.algorithm->supportsOneShot(op_)) continue;
      choice.oneShot0 = true;
      choices_.push_back(choice);
    }
  }

  // One algorithm for servers and what is between them, of any sizes.
  void spanning() {
    for (const plan::AlgorithmRow& row : plan::algorithmRows()) {
      if (plain(row)) continue;
      plan::Choice choice;
      choice.level0 = plan::findAlgorithm("fullmesh");
      if (fits(row, op_, static_cast<uint32_t>(topology_.servers.size())) &&
          row.algorithm->supportsGroups(topology_.servers)) {
        choice.level1 = &row;
        choices_.push_back(choice);
      }
      choice.level1 = nullptr;
      if (topology_.superPods.size() > 1 && topology_.uniform() &&
          fits(row, op_, static_cast<uint32_t>(topology_.superPods.size())) &&
          row.algorithm->supportsGroups(topology_.superPods)) {
        choice.level2 = &row;
        choices_.push_back(choice);
      }
    }
  }

  void twoLevels() {
    const auto servers = static_cast<uint32_t>(topology_.servers.size());
    const auto planes = static_cast<uint32_t>(topology_.servers[0].size());
    for (const plan::AlgorithmRow& inside : plan::algorithmRows()) {
      if (!plain(inside) || !fitsInside(inside, type_, planes)) continue;
      for (const plan::AlgorithmRow& between : plan::algorithmRows()) {
        if (!plain(between) || !fits(between, op_, servers)) continue;
        plan::Choice choice;
        choice.level0 = &inside;
        choice.level1 = &between;
        choices_.push_back(choice);
        if (!between.algorithm->supportsOneShot(op_)) continue;
        choice.oneShot1 = true;
        choices_.push_back(choice);
      }
    }
  }

  void threeLevels() {
    const auto pods = static_cast<uint32_t>(topology_.superPods.size());
    const auto inPod = static_cast<uint32_t>(topology_.superPods[0].size());
    for (const plan::AlgorithmRow& middle : plan::algorithmRows()) {
      if (!plain(middle) || inPod == 1 || !fitsInside(middle, type_, inPod)) continue;
      for (const plan::AlgorithmRow& top : plan::algorithmRows()) {
        if (!plain(top) || !fits(top, op_, pods)) continue;
        plan::Choice choice;
        choice.level0 = plan::findAlgorithm("fullmesh");
        choice.level1 = &middle;
        choice.level2 = &top;
        choices_.push_back(choice);
        if (!top.algorithm->supportsOneShot(op_)) continue;
        choice.oneShot2 = true;
        choices_.push_back(choice);
      }
    }
  }

  const HcclCMDType type_;
  const plan::Topology& topology_;
  const StageOp op_;
  std::vector<plan::Choice> choices_;
};

}  // namespace

std::vector<plan::Choice> choicesOf(HcclCMDType type, const plan::Topology& topology) {
  return Choices(type, topology).all();
}

std::vector<plan::Topology> topologiesOf(uint32_t ranks, bool all) {
  std::vector<plan::Topology> topologies = {plan::Topology::flat(ranks)};
  for (uint32_t planes = 2; planes * 2 <= ranks; ++planes) {
    if (ranks % planes != 0) continue;
    std::vector<uint32_t> serverOf(ranks);
    for (uint32_t r = 0; r < ranks; ++r) serverOf[r] = r / planes;
    topologies.push_back(plan::Topology::fromServers(serverOf));
    if (planes % 2 == 0) {  // ranks dealt out in turn
      for (uint32_t r = 0; r < ranks; ++r) serverOf[r] = r % (ranks / planes);
      topologies.push_back(plan::Topology::fromServers(serverOf));
    }
    if (!all && topologies.size() > 2) break;
  }
  if (ranks % 4 == 0) {  // super-pods of two servers each, or two super-pods of single ranks
    std::vector<uint32_t> serverOf(ranks);
    std::vector<uint32_t> superPodOf(ranks);
    const uint32_t planes = ranks % 8 == 0 ? 2 : 1;
    for (uint32_t r = 0; r < ranks; ++r) {
      serverOf[r] = r / planes;
      superPodOf[r] = r / planes / 2;
    }
    topologies.push_back(plan::Topology::fromServers(serverOf, superPodOf));
  }
  if (ranks >= 3) {
    std::vector<uint32_t> serverOf(ranks);
    for (uint32_t r = 0; r < ranks; ++r) serverOf[r] = r < (ranks + 2) / 3 ? 0 : r % 3 == 0 ? 2 : 1;
    topologies.push_back(plan::Topology::fromServers(serverOf));
  }
  return topologies;
}

verify::LinkOf linksOf(const plan::Topology& topology, Mix mix) {
  if (mix != Mix::kMixed) {
    const plan::PeerLink link =
        mix == Mix::kDirect ? plan::PeerLink::kDirect : plan::PeerLink::kMessage;
    return [link](uint32_t, uint32_t) { return link; };
  }
  if (topology.servers.size() > 1) {
    return [serverOf = topology.serverOf](uint32_t a, uint32_t b) {
      return serverOf[a] == serverOf[b] ? plan::PeerLink::kDirect : plan::PeerLink::kMessage;
    };
  }
  return [](uint32_t a, uint32_t b) {
    const uint32_t h = (std::min(a, b) * 2654435761U) ^ (std::max(a, b) * 40503U);
    return (h >> 5 & 1) != 0 ? plan::PeerLink::kDirect : plan::PeerLink::kMessage;
  };
}

void setGrid(verify::WorldSpec& spec, uint32_t turn) {
  const uint64_t n = spec.topology.rankCount;
  const uint64_t unit = plan::Geometry::kAlignBytes / spec.elementSize;
  const bool vector = plan::isVectorOp(spec.op.type);
  const uint64_t whole = vector ? unit * n : unit;  // elements in one iteration
  const uint64_t counts[] = {whole * 2 + unit + 13,
                             1,
                             whole + 1,
                             whole - 1,
                             whole * 3 + 5,
                             whole,  // an exact fit
                             whole * 2,
                             33};
  spec.op.count = counts[turn % 8];
  spec.chunkBytes = unit * spec.elementSize * n;
  // Every other time the buffer is just large enough for the smallest blocks.
  spec.bufferBytes = turn % 2 == 0 ? 256ULL << 20 : 6 * n * plan::Geometry::kAlignBytes;
}

}  // namespace hccl::test
