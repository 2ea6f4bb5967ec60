// Star. Source: HCCL's algorithm notes (star). One member, the root or member 0, talks to every
// other one directly: it collects, it hands out. AllReduce is both. Cost: alpha + n beta for a half
// as HCCL counts it (the centre's links in parallel); at one port (p-1) n beta. Inputs meet at the
// centre unreduced and in order, so a reduction is exact in order at any size.
#include "algorithms/algorithms.h"
#include "algorithms/moves_builder.h"

namespace hccl::algorithms {
namespace {

class Star final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override {
    return op != StageOp::kAllToAll && op != StageOp::kReduceScatter;
  }
  bool supportsSize(StageOp op, uint32_t size) const override {
    return size <= kMostOperands || (op != StageOp::kAllReduce && op != StageOp::kReduce);
  }
  bool keepsOrder(StageOp) const override { return true; }

  plan::Cost cost(const StageArgs& a) const override {
    const double others = a.size - 1;
    const double all = others / a.size;
    switch (a.op) {
      case StageOp::kAllReduce:
        return {2, 2 * others, others};
      case StageOp::kReduce:
        return {1, others, others};
      case StageOp::kBroadcast:
        return {1, others, 0};
      case StageOp::kAllGather:
        return {2, all + others * all, 0};
      default:
        return {1, all, 0};
    }
  }

  uint32_t rounds(const StageArgs& a) const override {
    return a.op == StageOp::kAllReduce || a.op == StageOp::kAllGather ? 2 : 1;
  }
  uint32_t blocks(const StageArgs& a) const override {
    const bool vector =
        a.op == StageOp::kAllReduce || a.op == StageOp::kReduce || a.op == StageOp::kBroadcast;
    return vector ? 1 : a.size;
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    switch (a.op) {
      case StageOp::kAllReduce:
        if (round == 0 && owner == 0) out.push_back(reduceAll(a.size, 0, 0, Buffer::kOutput));
        if (round == 1 && owner != 0) {
          out.push_back(copyMove({owner, Buffer::kOutput, 0}, {0, Buffer::kOutput, 0}));
        }
        break;
      case StageOp::kReduce:
        if (owner == a.root) out.push_back(reduceAll(a.size, owner, 0, Buffer::kOutput));
        break;
      case StageOp::kBroadcast:
        if (owner != a.root) {
          out.push_back(copyMove({owner, Buffer::kOutput, 0}, {a.root, Buffer::kInput, 0}));
        }
        break;
      case StageOp::kScatter:
        out.push_back(copyMove({owner, Buffer::kOutput, owner}, {a.root, Buffer::kInput, owner}));
        break;
      case StageOp::kGather:
        if (owner == a.root) gatherBlocks(a, Buffer::kInput, out);
        break;
      default:
        allGather(a, round, owner, out);
        break;
    }
  }

 private:
  static void allGather(const StageArgs& a, uint32_t round, uint32_t owner,
                        std::vector<Move>& out) {
    if (round == 0) {
      StageArgs centre = a;
      centre.root = 0;
      if (owner == 0) return gatherBlocks(centre, Buffer::kInput, out);
      out.push_back(copyMove({owner, Buffer::kOutput, owner}, {owner, Buffer::kInput, owner}));
      return;
    }
    if (owner == 0) return;
    Move move{owner, {owner}, {0}, {}};
    for (uint32_t b = 0; b < a.size; ++b) {
      if (b == owner) continue;
      move.refs.push_back({Buffer::kOutput, b});
      move.refs.push_back({Buffer::kOutput, b});
    }
    out.push_back(std::move(move));
  }
};

}  // namespace

const plan::StageAlgorithm& star() {
  static const Star instance;
  return instance;
}

}  // namespace hccl::algorithms
