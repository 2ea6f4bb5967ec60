#include "src/plan/selector.h"

#include <initializer_list>

namespace hccl::plan {
namespace {

// Up to these sizes the whole vector travels at once. The NHR and mesh-broadcast limits are HCCL's.
constexpr uint64_t kMeshOneShotAllReduce = 8ULL << 10;
constexpr uint64_t kMeshOneShotReduce = 64ULL << 10;
constexpr uint64_t kTreeAllReduce = 256ULL << 10;
constexpr uint64_t kOneShotBroadcast = 2ULL << 20;

AlgoOp algoOpOf(HcclCMDType type) {
  switch (type) {
    case HCCL_CMD_ALLGATHER:
    case HCCL_CMD_ALLGATHER_V:
      return AlgoOp::kAllGather;
    case HCCL_CMD_REDUCE_SCATTER:
    case HCCL_CMD_REDUCE_SCATTER_V:
      return AlgoOp::kReduceScatter;
    case HCCL_CMD_BROADCAST:
      return AlgoOp::kBroadcast;
    case HCCL_CMD_REDUCE:
      return AlgoOp::kReduce;
    case HCCL_CMD_SCATTER:
      return AlgoOp::kScatter;
    case HCCL_CMD_ALLTOALL:
    case HCCL_CMD_ALLTOALLV:
    case HCCL_CMD_ALLTOALLVC:
      return AlgoOp::kAllToAll;
    default:
      return AlgoOp::kAllReduce;
  }
}

// The rows that the rules name; looked up once.
const AlgorithmRow* meshRow() {
  static const AlgorithmRow* const found = findAlgorithm("fullmesh");
  return found;
}
const AlgorithmRow* ringRow() {
  static const AlgorithmRow* const found = findAlgorithm("ring");
  return found;
}
const AlgorithmRow* nhrRow() {
  static const AlgorithmRow* const found = findAlgorithm("NHR");
  return found;
}

bool fits(const AlgorithmRow* candidate, StageOp op, size_t members) {
  return candidate != nullptr && candidate->algorithm->supports(op) &&
         candidate->algorithm->supportsSize(op, static_cast<uint32_t>(members));
}

const AlgorithmRow* firstThatFits(StageOp op, size_t members,
                                  std::initializer_list<const AlgorithmRow*> rows) {
  for (const AlgorithmRow* row : rows) {
    if (fits(row, op, members)) return row;
  }
  return meshRow();
}

// HCCL's rule where nothing is configured: ring for a few servers that are no power of two, else
// NHR.
const AlgorithmRow* defaultLevel1(StageOp op, size_t servers) {
  const bool power = (servers & (servers - 1)) == 0;
  return servers >= 8 || power ? firstThatFits(op, servers, {nhrRow(), ringRow()})
                               : firstThatFits(op, servers, {ringRow(), nhrRow()});
}

const AlgorithmRow* configured(AlgoToken token, StageOp op, size_t members,
                               const AlgorithmRow* fallback, Choice& choice) {
  if (token == AlgoToken::kUnset || token == AlgoToken::kNa || token == AlgoToken::kNull)
    return fallback;
  const std::string name(toString(token));
  const AlgorithmRow* wanted = findAlgorithm(name);
  // Between servers fullmesh and pairwise mean AlltoAll; other operations ignore them.
  const bool ignored =
      op != StageOp::kAllToAll && (token == AlgoToken::kFullMesh || token == AlgoToken::kPairwise);
  if (fits(wanted, op, members) && !ignored) return wanted;
  choice.note = "algorithm " + name + " is not available for this operation, " +
                std::string(fallback->token) + " is used";
  return fallback;
}

bool oneShot(const AlgorithmRow* algorithm, StageOp op, uint64_t bytes) {
  if (!algorithm->algorithm->supportsOneShot(op)) return false;
  const bool mesh = algorithm == meshRow();
  switch (op) {
    case StageOp::kAllReduce:
      return bytes <= (mesh ? kMeshOneShotAllReduce : kTreeAllReduce);
    case StageOp::kReduce:
      return bytes <= (mesh ? kMeshOneShotReduce : kTreeAllReduce);
    case StageOp::kBroadcast:
      return bytes <= kOneShotBroadcast;
    default:
      return false;
  }
}

}  // namespace

Choice select(const OpDesc& op, const Topology& topology, const AlgoConfig& config, bool strict,
              uint64_t bytes) {
  Choice choice;
  const StageOp stage = stageOpOf(op.type);
  const AlgoToken level1 = config.level(algoOpOf(op.type), 1);
  if (op.type == HCCL_CMD_BARRIER) {
    choice.level0 = topology.rankCount > 16 ? nhrRow() : meshRow();
    choice.oneShot0 = true;
    return choice;
  }
  if (topology.rankCount == 1) {  // a copy, which the mesh makes
    choice.level0 = meshRow();
    return choice;
  }
  if (strict && isReduction(op.type)) {
    // Inputs have to meet unreduced: only the mesh brings them so.
    choice.level0 = meshRow();
    choice.oneShot0 = oneShot(meshRow(), stage, bytes);
    return choice;
  }
  const bool flat = config.flat || topology.servers.size() == 1 || !topology.uniform() ||
                    topology.servers[0].size() == 1 || stage == StageOp::kAllToAll;
  if (!flat) {
    choice.level0 = meshRow();
    choice.level1 = configured(level1, stage, topology.servers.size(),
                               defaultLevel1(stage, topology.servers.size()), choice);
    choice.oneShot1 = oneShot(choice.level1, stage, bytes / topology.servers[0].size());
    return choice;
  }
  const AlgorithmRow* fallback = meshRow();
  if (topology.servers.size() > 1 && stage != StageOp::kAllToAll) {
    fallback = topology.uniform() ? defaultLevel1(stage, topology.rankCount)
                                  : firstThatFits(stage, topology.rankCount, {ringRow(), nhrRow()});
  }
  // Inside one server level 1 does not exist, unless level0:null makes all ranks one flat level.
  const bool useLevel1 = config.flat || topology.servers.size() > 1;
  choice.level0 =
      useLevel1 ? configured(level1, stage, topology.rankCount, fallback, choice) : fallback;
  choice.oneShot0 = oneShot(choice.level0, stage, bytes);
  return choice;
}

}  // namespace hccl::plan
