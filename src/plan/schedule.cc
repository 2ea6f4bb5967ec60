#include "src/plan/schedule.h"

namespace hccl::plan {

StageArgs argsOf(const Stage& stage, const Group& group) {
  return {stage.op, static_cast<uint32_t>(group.ranks.size()), group.root, stage.oneShot,
          group.subgroups.empty() ? nullptr : &group.subgroups};
}

void translate(const std::array<Buffer, 3>& buffers, const Group& group, const Move& move,
               std::vector<Move>& out) {
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
            {buffers[static_cast<size_t>(ref.buffer)], group.blocks[ref.block][i]});
      }
      if (operands == 2 && move.rankOf(0) == move.rankOf(1) &&
          result.refs[begin] == result.refs[begin + 1]) {
        result.refs.resize(begin);
      }
    }
  }
  if (!result.refs.empty()) out.push_back(std::move(result));
}

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
    for (const Move& move : local) translate(stage.buffers, group, move, out);
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

uint32_t Choice::key() const {
  const auto id = [](const AlgorithmRow* row) { return row == nullptr ? 0U : uint32_t{row->id}; };
  return id(level0) | id(level1) << 5 | id(level2) << 10 | (oneShot0 ? 1U << 15 : 0) |
         (oneShot1 ? 1U << 16 : 0) | (oneShot2 ? 1U << 17 : 0);
}

std::string Choice::text() const {
  std::string result;
  for (const AlgorithmRow* row : {level0, level1, level2}) {
    if (row != nullptr) result += (result.empty() ? "" : "-") + std::string(row->token);
  }
  return result + (oneShot() ? " (one-shot)" : "");
}

}  // namespace hccl::plan
