#include "src/plan/selector.h"

#include <algorithm>
#include <initializer_list>

namespace hccl::plan {
namespace {

// Up to these sizes the whole vector travels at once. The NHR and mesh-broadcast limits are HCCL's.
constexpr uint64_t kMeshOneShotAllReduce = 8ULL << 10;
constexpr uint64_t kMeshOneShotReduce = 64ULL << 10;
constexpr uint64_t kTreeAllReduce = 256ULL << 10;
constexpr uint64_t kOneShotBroadcast = 2ULL << 20;
// Beyond HCCL: where steps alone count, and where a tree of whole vectors is too slow but a
// scatter has too many steps.
constexpr uint64_t kDoublingAllReduce = 16ULL << 10;
constexpr uint64_t kTreeBroadcast = 64ULL << 10;
constexpr size_t kDoubleTreeMembers = 4;
constexpr uint64_t kBruckBlock = 256;
constexpr size_t kBruckMembers = 8;
constexpr size_t kMeshPartners = 16;

const AlgorithmRow* row(const char* token) {
  return findAlgorithm(token);
}
// The rows that the rules name; looked up once.
const AlgorithmRow* meshRow() {
  static const AlgorithmRow* const found = row("fullmesh");
  return found;
}
const AlgorithmRow* ringRow() {
  static const AlgorithmRow* const found = row("ring");
  return found;
}
const AlgorithmRow* nhrRow() {
  static const AlgorithmRow* const found = row("NHR");
  return found;
}

using Groups = std::vector<std::vector<uint32_t>>;

// A level that looks for its algorithm.
struct Wanted {
  std::vector<StageOp> ops;  // that the algorithm has to do there
  size_t members = 1;
  bool equalBlocks = true;         // all pairs' blocks of an AlltoAll have one length
  const Groups* groups = nullptr;  // of the level below; nullptr: nothing can span levels here
  bool does(StageOp op) const { return ops.size() == 1 && ops[0] == op; }
};

bool fits(const AlgorithmRow* candidate, const Wanted& w) {
  if (candidate == nullptr) return false;
  const StageAlgorithm& algorithm = *candidate->algorithm;
  if (algorithm.relays() && !w.equalBlocks) return false;
  if (algorithm.spansLevels() && (w.groups == nullptr || !algorithm.supportsGroups(*w.groups))) {
    return false;
  }
  return std::all_of(w.ops.begin(), w.ops.end(), [&](StageOp op) {
    return algorithm.supports(op) && algorithm.supportsSize(op, static_cast<uint32_t>(w.members));
  });
}

const AlgorithmRow* firstThatFits(const Wanted& wanted,
                                  std::initializer_list<const AlgorithmRow*> rows) {
  for (const AlgorithmRow* candidate : rows) {
    if (fits(candidate, wanted)) return candidate;
  }
  return meshRow();
}

// HCCL's rule where nothing is configured: ring for a few servers that are no power of two, else
// NHR.
const AlgorithmRow* defaultBetween(const Wanted& w) {
  const bool power = (w.members & (w.members - 1)) == 0;
  return w.members >= 8 || power ? firstThatFits(w, {nhrRow(), ringRow()})
                                 : firstThatFits(w, {ringRow(), nhrRow()});
}

// The same at the highest level, where small and middle sizes have better ones.
const AlgorithmRow* defaultAtTop(const Wanted& w, uint64_t bytes) {
  static const AlgorithmRow* const doubling = row("doubling");
  static const AlgorithmRow* const doubleTree = row("doubletree");
  if (w.does(StageOp::kAllReduce) && bytes <= kDoublingAllReduce) return doubling;
  if (w.does(StageOp::kBroadcast) && w.members >= kDoubleTreeMembers && bytes > kTreeBroadcast &&
      bytes <= kOneShotBroadcast) {
    return doubleTree;
  }
  return defaultBetween(w);
}

const AlgorithmRow* defaultAllToAll(const Wanted& w, bool oneServer, uint64_t bytes) {
  static const AlgorithmRow* const bruck = row("bruck");
  static const AlgorithmRow* const grouped = row("groupedmesh");
  if (w.equalBlocks && !oneServer && w.members >= kBruckMembers &&
      bytes <= kBruckBlock * w.members) {
    return bruck;
  }
  return w.members > kMeshPartners ? grouped : meshRow();
}

// What stands in for a configured algorithm that does not do an operation, or not with these
// members.
const AlgorithmRow* standIn(AlgoToken token, const Wanted& w, const AlgorithmRow* byDefault) {
  static const AlgorithmRow* const halving = row("H-D_R");
  static const AlgorithmRow* const pairwise = row("pairwise");
  if (w.does(StageOp::kAllToAll)) return token == AlgoToken::kPipeline ? pairwise : byDefault;
  switch (token) {
    case AlgoToken::kNhr:
      return firstThatFits(w, {halving, ringRow()});
    case AlgoToken::kRing:
    case AlgoToken::kHalvingDoubling:
    case AlgoToken::kNb:
    case AlgoToken::kNhrV1:
    case AlgoToken::kAhc:
    case AlgoToken::kAhcBroke:
    case AlgoToken::kPipeline:
      return firstThatFits(w, {nhrRow(), halving, ringRow()});
    default:
      return byDefault;
  }
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

class Selection {
 public:
  Selection(const OpDesc& op, const Topology& topology, const AlgoConfig& config, uint64_t bytes)
      : topology_(topology),
        config_(config),
        bytes_(bytes),
        op_(stageOpOf(op.type)),
        equalBlocks_(op.type != HCCL_CMD_ALLTOALLV && op.type != HCCL_CMD_ALLTOALLVC),
        level1_(config.level(algoOpOf(op.type), 1)),
        level2_(config.level(algoOpOf(op.type), 2)) {}

  // Inputs have to meet unreduced and in order: all ranks as one level.
  Choice strict() {
    const AlgorithmRow* wanted = findAlgorithm(std::string(toString(level1_)));
    const bool keeps =
        wanted != nullptr && wanted->algorithm->keepsOrder(op_) && fits(wanted, allRanks());
    choice_.level0 = keeps ? wanted : meshRow();
    if (wanted != nullptr && !keeps) {
      choice_.note = "algorithm " + std::string(wanted->token) +
                     " combines partial results, strict determinism uses fullmesh";
    }
    choice_.oneShot0 = oneShot(choice_.level0, op_, bytes_);
    return choice_;
  }

  Choice run() {
    const size_t servers = topology_.servers.size();
    const size_t pods = topology_.superPods.size();
    const bool levels = !config_.flat && servers > 1 && op_ != StageOp::kAllToAll;
    if (!levels || (pods == 1 && topology_.servers[0].size() == 1 && topology_.uniform())) {
      flat();
    } else if (!topology_.uniform()) {
      unequalServers();
    } else if (pods == 1) {
      betweenServers(&topology_.servers);
    } else if (topology_.uniformSuperPods()) {
      threeLevels();
    } else {
      unequalSuperPods();
    }
    return choice_;
  }

 private:
  Wanted allRanks() const { return {{op_}, topology_.rankCount, equalBlocks_, nullptr}; }

  void note(const AlgorithmRow* instead, AlgoToken token) {
    if (!choice_.note.empty()) choice_.note += "; ";
    choice_.note += "algorithm " + std::string(toString(token)) +
                    " is not available for this operation, " + instead->token + " is used";
  }

  const AlgorithmRow* configured(AlgoToken token, const Wanted& w, const AlgorithmRow* byDefault) {
    if (token == AlgoToken::kUnset || token == AlgoToken::kNa || token == AlgoToken::kNull)
      return byDefault;
    const AlgorithmRow* wanted = findAlgorithm(std::string(toString(token)));
    // Between servers fullmesh and pairwise mean AlltoAll; other operations ignore them.
    const bool ignored = op_ != StageOp::kAllToAll &&
                         (token == AlgoToken::kFullMesh || token == AlgoToken::kPairwise);
    if (!ignored && fits(wanted, w)) return wanted;
    const AlgorithmRow* instead = ignored ? byDefault : standIn(token, w, byDefault);
    note(instead, token);
    return instead;
  }

  // All ranks as one level. Inside one server level 1 does not exist, unless level0:null makes it.
  void flat() {
    const bool oneServer = topology_.servers.size() == 1;
    const Wanted w = allRanks();
    const AlgorithmRow* byDefault = firstThatFits(w, {meshRow(), nhrRow()});
    if (op_ == StageOp::kAllToAll) {
      byDefault = defaultAllToAll(w, oneServer, bytes_);
    } else if (!oneServer) {
      byDefault =
          topology_.uniform() ? defaultAtTop(w, bytes_) : firstThatFits(w, {ringRow(), nhrRow()});
    }
    choice_.level0 = config_.flat || !oneServer ? configured(level1_, w, byDefault) : byDefault;
    choice_.oneShot0 = oneShot(choice_.level0, op_, bytes_);
  }

  void unequalServers() {
    const Wanted w{{op_}, topology_.servers.size(), true, &topology_.servers};
    const bool asked = level1_ == AlgoToken::kAhc || level1_ == AlgoToken::kAhcBroke;
    const AlgorithmRow* wanted = findAlgorithm(std::string(toString(level1_)));
    if (!asked || !fits(wanted, w)) return flat();
    choice_.level0 = meshRow();
    choice_.level1 = wanted;
  }

  void betweenServers(const Groups* groups) {
    const uint64_t part = bytes_ / topology_.servers[0].size();
    const Wanted w{{op_}, topology_.servers.size(), true, groups};
    choice_.level0 = meshRow();
    choice_.level1 = configured(level1_, w, defaultAtTop(w, part));
    choice_.oneShot1 = oneShot(choice_.level1, op_, part);
  }

  // What level 1 does for an operation that goes on at level 2.
  std::vector<StageOp> insideSuperPods() const {
    switch (op_) {
      case StageOp::kAllReduce:
        return {StageOp::kReduceScatter, StageOp::kAllGather};
      case StageOp::kReduce:
        return {StageOp::kReduceScatter, StageOp::kGather};
      case StageOp::kBroadcast:
        return {StageOp::kScatter, StageOp::kAllGather};
      default:
        return {op_};
    }
  }

  void threeLevels() {
    const auto& pod = topology_.superPods[0];
    const uint64_t part = bytes_ / topology_.servers[0].size() / pod.size();
    choice_.level0 = meshRow();
    const Wanted top{{op_}, topology_.superPods.size(), true, &topology_.superPods};
    choice_.level2 = configured(level2_, top, firstThatFits(top, {nhrRow(), ringRow()}));
    choice_.oneShot2 = oneShot(choice_.level2, op_, part);
    if (pod.size() == 1 || choice_.level2->algorithm->spansLevels()) return;
    Groups servers;
    for (uint32_t server : pod) servers.push_back(topology_.servers[server]);
    const Wanted inside{insideSuperPods(), pod.size(), true, &servers};
    choice_.level1 = configured(level1_, inside, defaultBetween(inside));
  }

  // AHC joins the levels 1 and 2 where it can; else all servers are one level.
  void unequalSuperPods() {
    const bool broke = level2_ == AlgoToken::kAhcBroke || level1_ == AlgoToken::kAhcBroke;
    const AlgorithmRow* ahc = row(broke ? "AHC_BROKE" : "AHC");
    if (!fits(ahc, {{op_}, topology_.servers.size(), true, &topology_.superPods})) {
      return betweenServers(nullptr);
    }
    for (const AlgoToken token : {level1_, level2_}) {
      const bool unset = token == AlgoToken::kUnset || token == AlgoToken::kNa;
      if (!unset && toString(token) != ahc->token) note(ahc, token);
    }
    choice_.level0 = meshRow();
    choice_.level2 = ahc;
  }

  const Topology& topology_;
  const AlgoConfig& config_;
  const uint64_t bytes_;
  const StageOp op_;
  const bool equalBlocks_;
  const AlgoToken level1_;
  const AlgoToken level2_;
  Choice choice_;
};

// What the configuration says beside the levels.
void applyShape(const AlgoShape& shape, StageOp op, Choice& choice) {
  choice.chunkBytes = shape.chunkBytes;
  if (!shape.oneShot) return;
  const bool flat = choice.level1 == nullptr && choice.level2 == nullptr;
  const AlgorithmRow* top = choice.level2 != nullptr ? choice.level2
                            : flat                   ? choice.level0
                                                     : choice.level1;
  bool& target = choice.level2 != nullptr ? choice.oneShot2
                 : flat                   ? choice.oneShot0
                                          : choice.oneShot1;
  if (*shape.oneShot && !top->algorithm->supportsOneShot(op)) {
    choice.note += std::string(choice.note.empty() ? "" : "; ") + top->token +
                   " has no one-shot form of this operation";
    return;
  }
  target = *shape.oneShot;
}

}  // namespace

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

Choice select(const OpDesc& op, const Topology& topology, const AlgoConfig& config, bool strict,
              uint64_t bytes) {
  if (op.type == HCCL_CMD_BARRIER) {
    Choice choice;
    choice.level0 = topology.rankCount > 16 ? nhrRow() : meshRow();
    choice.oneShot0 = true;
    return choice;
  }
  if (topology.rankCount == 1) {  // a copy, which the mesh makes
    Choice choice;
    choice.level0 = meshRow();
    return choice;
  }
  Selection selection(op, topology, config, bytes);
  Choice choice = strict && isReduction(op.type) ? selection.strict() : selection.run();
  applyShape(config.shape(algoOpOf(op.type)), stageOpOf(op.type), choice);
  return choice;
}

}  // namespace hccl::plan
