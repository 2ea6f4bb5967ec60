#include "src/plan/schedule.h"

#include <numeric>

namespace hccl::plan {
namespace {

using Blocks = std::vector<std::vector<uint32_t>>;

std::array<Buffer, 3> roles(Buffer input, Buffer output, Buffer scratch) {
  return {input, output, scratch};
}

Blocks identity(uint32_t count) {
  Blocks blocks(count);
  for (uint32_t b = 0; b < count; ++b) blocks[b] = {b};
  return blocks;
}

// Builds stages of a uniform topology: server g, local index i, `planes` = ranks a server.
class Hierarchy {
 public:
  Hierarchy(const OpDesc& op, const Topology& topology, const Choice& choice)
      : op_(op), topology_(topology), choice_(choice) {
    servers_ = static_cast<uint32_t>(topology.servers.size());
    planes_ = static_cast<uint32_t>(topology.servers[0].size());
    rootServer_ = topology.serverOf[op.root];
    rootPlane_ = topology.localIndex[op.root];
  }

  void build(Schedule& schedule) {
    switch (op_.type) {
      case HCCL_CMD_REDUCE_SCATTER:
      case HCCL_CMD_REDUCE_SCATTER_V:
        schedule.blocks = topology_.rankCount;
        inter(schedule, StageOp::kReduceScatter, rankBlocksOfServers(),
              roles(Buffer::kInput, Buffer::kScratch, Buffer::kScratch), false);
        intra(schedule, StageOp::kReduceScatter,
              roles(Buffer::kScratch, Buffer::kOutput, Buffer::kScratch), false);
        break;
      case HCCL_CMD_ALLGATHER:
      case HCCL_CMD_ALLGATHER_V:
        schedule.blocks = topology_.rankCount;
        intra(schedule, StageOp::kAllGather,
              roles(Buffer::kInput, Buffer::kOutput, Buffer::kScratch), false);
        inter(schedule, StageOp::kAllGather, rankBlocksOfServers(),
              roles(Buffer::kOutput, Buffer::kOutput, Buffer::kScratch), false);
        break;
      case HCCL_CMD_SCATTER:
        schedule.blocks = topology_.rankCount;
        inter(schedule, StageOp::kScatter, rankBlocksOfServers(),
              roles(Buffer::kInput, Buffer::kScratch, Buffer::kScratch), true);
        intra(schedule, StageOp::kScatter,
              roles(Buffer::kScratch, Buffer::kOutput, Buffer::kScratch), false);
        break;
      case HCCL_CMD_BROADCAST:
        vectorBlocks(schedule);
        intraVector(schedule, StageOp::kScatter,
                    roles(Buffer::kInput, Buffer::kOutput, Buffer::kOutput), true);
        interVector(schedule, StageOp::kBroadcast,
                    roles(Buffer::kOutput, Buffer::kOutput, Buffer::kScratch));
        intraVector(schedule, StageOp::kAllGather,
                    roles(Buffer::kOutput, Buffer::kOutput, Buffer::kScratch), false);
        break;
      case HCCL_CMD_REDUCE:
        vectorBlocks(schedule);
        intraVector(schedule, StageOp::kReduceScatter,
                    roles(Buffer::kInput, Buffer::kScratch, Buffer::kScratch), false);
        interVector(schedule, StageOp::kReduce,
                    roles(Buffer::kScratch, Buffer::kScratch, Buffer::kScratch));
        intraVector(schedule, StageOp::kGather,
                    roles(Buffer::kScratch, Buffer::kOutput, Buffer::kScratch), true);
        break;
      default:
        vectorBlocks(schedule);
        intraVector(schedule, StageOp::kReduceScatter,
                    roles(Buffer::kInput, Buffer::kOutput, Buffer::kOutput), false);
        interVector(schedule, StageOp::kAllReduce,
                    roles(Buffer::kOutput, Buffer::kOutput, Buffer::kScratch));
        intraVector(schedule, StageOp::kAllGather,
                    roles(Buffer::kOutput, Buffer::kOutput, Buffer::kScratch), false);
        break;
    }
  }

 private:
  // Vector operations: plane i has `perPlane_` consecutive blocks.
  void vectorBlocks(Schedule& schedule) {
    perPlane_ = choice_.level1->algorithm->blocks(
        {stageOpOf(op_.type), servers_, rootServer_, choice_.oneShot1});
    schedule.blocks = planes_ * perPlane_;
  }

  Stage stage(const AlgorithmRow* row, StageOp op, bool oneShot,
              std::array<Buffer, 3> buffers) const {
    Stage s;
    s.row = row;
    s.op = op;
    s.oneShot = oneShot;
    s.buffers = buffers;
    s.groupOf.assign(topology_.rankCount, -1);
    s.memberOf.assign(topology_.rankCount, 0);
    return s;
  }

  static void addGroup(Stage& s, Group group) {
    for (uint32_t m = 0; m < group.ranks.size(); ++m) {
      s.groupOf[group.ranks[m]] = static_cast<int32_t>(s.groups.size());
      s.memberOf[group.ranks[m]] = m;
    }
    s.groups.push_back(std::move(group));
  }

  Group serverGroup(uint32_t g) const {
    Group group;
    group.ranks = topology_.servers[g];
    group.root = rootPlane_;
    return group;
  }

  Group planeGroup(uint32_t plane) const {
    Group group;
    for (uint32_t g = 0; g < servers_; ++g) group.ranks.push_back(topology_.servers[g][plane]);
    group.root = rootServer_;
    return group;
  }

  Blocks rankBlocksOfServers() const { return topology_.servers; }

  // Inside every server, member i's block is that of its rank.
  void intra(Schedule& schedule, StageOp op, std::array<Buffer, 3> buffers, bool rootOnly) const {
    Stage s = stage(choice_.level0, op, false, buffers);
    for (uint32_t g = 0; g < servers_; ++g) {
      if (rootOnly && g != rootServer_) continue;
      Group group = serverGroup(g);
      for (uint32_t rank : group.ranks) group.blocks.push_back({rank});
      addGroup(s, std::move(group));
    }
    schedule.stages.push_back(std::move(s));
  }

  void inter(Schedule& schedule, StageOp op, const Blocks& blocks, std::array<Buffer, 3> buffers,
             bool rootOnly) const {
    Stage s = stage(choice_.level1, op, false, buffers);
    for (uint32_t plane = 0; plane < planes_; ++plane) {
      if (rootOnly && plane != rootPlane_) continue;
      Group group = planeGroup(plane);
      group.blocks = blocks;
      addGroup(s, std::move(group));
    }
    schedule.stages.push_back(std::move(s));
  }

  // Member i's block of a server's stage is all of plane i.
  void intraVector(Schedule& schedule, StageOp op, std::array<Buffer, 3> buffers,
                   bool rootOnly) const {
    Stage s = stage(choice_.level0, op, false, buffers);
    for (uint32_t g = 0; g < servers_; ++g) {
      if (rootOnly && g != rootServer_) continue;
      Group group = serverGroup(g);
      for (uint32_t plane = 0; plane < planes_; ++plane) group.blocks.push_back(planeBlocks(plane));
      addGroup(s, std::move(group));
    }
    schedule.stages.push_back(std::move(s));
  }

  void interVector(Schedule& schedule, StageOp op, std::array<Buffer, 3> buffers) const {
    Stage s = stage(choice_.level1, op, choice_.oneShot1, buffers);
    for (uint32_t plane = 0; plane < planes_; ++plane) {
      Group group = planeGroup(plane);
      for (uint32_t b : planeBlocks(plane)) group.blocks.push_back({b});
      addGroup(s, std::move(group));
    }
    schedule.stages.push_back(std::move(s));
  }

  std::vector<uint32_t> planeBlocks(uint32_t plane) const {
    std::vector<uint32_t> blocks(perPlane_);
    std::iota(blocks.begin(), blocks.end(), plane * perPlane_);
    return blocks;
  }

  const OpDesc& op_;
  const Topology& topology_;
  const Choice& choice_;
  uint32_t servers_;
  uint32_t planes_;
  uint32_t rootServer_;
  uint32_t rootPlane_;
  uint32_t perPlane_ = 1;
};

StageArgs argsOf(const Stage& stage, const Group& group) {
  return {stage.op, static_cast<uint32_t>(group.ranks.size()), group.root, stage.oneShot};
}

// Stage language to operation language. Segments that copy a place onto itself are dropped.
void translate(const Stage& stage, const Group& group, const Move& move, std::vector<Move>& out) {
  Move result;
  result.owner = group.ranks[move.owner];
  for (uint32_t m : move.targets) result.targets.push_back(group.ranks[m]);
  for (uint32_t m : move.sources) result.sources.push_back(group.ranks[m]);
  const size_t operands = move.operands();
  for (size_t s = 0; s < move.segments(); ++s) {
    const size_t expansion = group.blocks[move.ref(s, 0).block].size();
    for (size_t i = 0; i < expansion; ++i) {
      const size_t begin = result.refs.size();
      for (size_t o = 0; o < operands; ++o) {
        const Ref& ref = move.ref(s, o);
        result.refs.push_back(
            {stage.buffers[static_cast<size_t>(ref.buffer)], group.blocks[ref.block][i]});
      }
      if (operands == 2 && move.rankOf(0) == move.rankOf(1) &&
          result.refs[begin] == result.refs[begin + 1]) {
        result.refs.resize(begin);
      }
    }
  }
  if (!result.refs.empty()) out.push_back(std::move(result));
}

}  // namespace

StageOp stageOpOf(HcclCMDType type) {
  switch (type) {
    case HCCL_CMD_REDUCE:
      return StageOp::kReduce;
    case HCCL_CMD_BROADCAST:
      return StageOp::kBroadcast;
    case HCCL_CMD_REDUCE_SCATTER:
    case HCCL_CMD_REDUCE_SCATTER_V:
      return StageOp::kReduceScatter;
    case HCCL_CMD_ALLGATHER:
    case HCCL_CMD_ALLGATHER_V:
      return StageOp::kAllGather;
    case HCCL_CMD_SCATTER:
      return StageOp::kScatter;
    case HCCL_CMD_ALLTOALL:
    case HCCL_CMD_ALLTOALLV:
    case HCCL_CMD_ALLTOALLVC:
      return StageOp::kAllToAll;
    default:
      return StageOp::kAllReduce;
  }
}

uint32_t Stage::rounds() const {
  return groups.empty() ? 0 : row->algorithm->rounds(argsOf(*this, groups[0]));
}

uint32_t Schedule::rounds() const {
  uint32_t total = 0;
  for (const Stage& stage : stages) total += stage.rounds();
  return total;
}

void Schedule::moves(uint32_t round, uint32_t owner, std::vector<Move>& out) const {
  for (const Stage& stage : stages) {
    const uint32_t rounds = stage.rounds();
    if (round >= rounds) {
      round -= rounds;
      continue;
    }
    const int32_t g = stage.groupOf[owner];
    if (g < 0) return;
    const Group& group = stage.groups[static_cast<size_t>(g)];
    std::vector<Move> local;
    stage.row->algorithm->moves(argsOf(stage, group), round, stage.memberOf[owner], local);
    for (const Move& move : local) translate(stage, group, move, out);
    return;
  }
}

const std::vector<uint32_t>& Schedule::group(uint32_t round, uint32_t rank) const {
  static const std::vector<uint32_t> none;
  for (const Stage& stage : stages) {
    const uint32_t rounds = stage.rounds();
    if (round >= rounds) {
      round -= rounds;
      continue;
    }
    const int32_t g = stage.groupOf[rank];
    return g < 0 ? none : stage.groups[static_cast<size_t>(g)].ranks;
  }
  return none;
}

Schedule compose(const OpDesc& op, const Topology& topology, const Choice& choice) {
  Schedule schedule;
  schedule.rankCount = topology.rankCount;
  if (choice.level1 != nullptr) {
    schedule.name = std::string(choice.level0->logName) + "-" + choice.level1->logName + "-null";
    schedule.id = static_cast<uint8_t>(choice.level0->id << 4 | choice.level1->id);
    Hierarchy(op, topology, choice).build(schedule);
    return schedule;
  }
  schedule.name = std::string(choice.level0->logName) + "-null-null";
  schedule.id = static_cast<uint8_t>(choice.level0->id << 4);
  Stage stage;
  stage.row = choice.level0;
  stage.op = stageOpOf(op.type);
  stage.oneShot = choice.oneShot0;
  Group group;
  group.ranks.resize(topology.rankCount);
  std::iota(group.ranks.begin(), group.ranks.end(), 0U);
  group.root = op.root;
  schedule.blocks =
      stage.row->algorithm->blocks({stage.op, topology.rankCount, op.root, stage.oneShot});
  group.blocks = identity(schedule.blocks);
  stage.groupOf.assign(topology.rankCount, 0);
  stage.memberOf = group.ranks;
  stage.groups.push_back(std::move(group));
  schedule.stages.push_back(std::move(stage));
  return schedule;
}

}  // namespace hccl::plan
