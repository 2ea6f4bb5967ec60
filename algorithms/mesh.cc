// Full mesh: every member reaches every other one directly. Source: HCCL's algorithm notes (mesh).
// p members, n bytes. ReduceScatter, AllGather, Scatter: one step, alpha + n/p beta each (+ (p-1)/p
// n gamma). AllReduce: the owner of a block reduces it out of all inputs in one pass and writes it
// to all outputs, one step. One-shot AllReduce: everyone reduces everything, no second exchange.
// Members are visited in the order r+1, r+2, ... so that nobody is everybody's first.
#include "algorithms/algorithms.h"
#include "algorithms/moves_builder.h"

namespace hccl::algorithms {
namespace {

class Mesh final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp) const override { return true; }
  // One pass takes so many sources.
  bool supportsSize(StageOp op, uint32_t size) const override {
    return size <= kMostOperands ||
           (op != StageOp::kAllReduce && op != StageOp::kReduce && op != StageOp::kReduceScatter);
  }
  bool keepsOrder(StageOp) const override { return true; }
  bool supportsOneShot(StageOp op) const override {
    return op == StageOp::kAllReduce || op == StageOp::kBroadcast || op == StageOp::kReduce;
  }

  uint32_t rounds(const StageArgs& a) const override {
    switch (a.op) {
      case StageOp::kAllReduce:
        return a.oneShot ? 2 : 1;
      case StageOp::kBroadcast:
      case StageOp::kReduce:
        return a.oneShot ? 1 : 2;
      default:
        return 1;
    }
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    switch (a.op) {
      case StageOp::kReduceScatter:
        out.push_back(reduceAll(a.size, owner, owner, Buffer::kOutput));
        break;
      case StageOp::kAllGather:
        allGather(a, owner, out);
        break;
      case StageOp::kAllReduce:
        allReduce(a, round, owner, out);
        break;
      case StageOp::kBroadcast:
        broadcast(a, round, owner, out);
        break;
      case StageOp::kScatter:
        out.push_back(copyMove({owner, Buffer::kOutput, owner}, {a.root, Buffer::kInput, owner}));
        break;
      case StageOp::kGather:
        if (owner == a.root) gatherBlocks(a, Buffer::kInput, out);
        break;
      case StageOp::kReduce:
        if (a.oneShot) {
          if (owner == a.root) out.push_back(reduceAll(a.size, owner, 0, Buffer::kOutput));
        } else if (round == 0) {
          out.push_back(reduceAll(a.size, owner, owner, Buffer::kScratch));
        } else if (owner == a.root) {
          gatherBlocks(a, Buffer::kScratch, out);
        }
        break;
      case StageOp::kAllToAll:
        for (uint32_t k = 0; k < a.size; ++k) {
          const uint32_t q = mod(int64_t{owner} + k, a.size);
          out.push_back(copyMove({owner, Buffer::kOutput, q}, {q, Buffer::kInput, owner}));
        }
        break;
    }
  }

 private:
  static void allReduce(const StageArgs& a, uint32_t round, uint32_t owner,
                        std::vector<Move>& out) {
    if (a.oneShot) {
      // The result may not land in the output while others still read the input: they can be the
      // same memory. The local copy of round 1 waits for them.
      if (round == 0) {
        out.push_back(reduceAll(a.size, owner, 0, Buffer::kScratch));
      } else {
        out.push_back(copyMove({owner, Buffer::kOutput, 0}, {owner, Buffer::kScratch, 0}));
      }
      return;
    }
    Move move{owner, {}, {}, {}};
    for (uint32_t k = 0; k < a.size; ++k) {
      move.targets.push_back(mod(int64_t{owner} + k, a.size));
      move.refs.push_back({Buffer::kOutput, owner});
    }
    for (uint32_t q = 0; q < a.size; ++q) {
      move.sources.push_back(q);
      move.refs.push_back({Buffer::kInput, owner});
    }
    out.push_back(move);
  }

  static void allGather(const StageArgs& a, uint32_t owner, std::vector<Move>& out) {
    for (uint32_t k = 0; k < a.size; ++k) {
      const uint32_t q = mod(int64_t{owner} + k, a.size);
      out.push_back(copyMove({owner, Buffer::kOutput, q}, {q, Buffer::kInput, q}));
    }
  }

  // One-shot: everyone takes all from the root. Else scatter, then all-gather of the outputs; the
  // root, which has everything, takes nothing, and its own block is read out of its input.
  static void broadcast(const StageArgs& a, uint32_t round, uint32_t owner,
                        std::vector<Move>& out) {
    if (owner == a.root) return;
    if (a.oneShot) {
      out.push_back(copyMove({owner, Buffer::kOutput, 0}, {a.root, Buffer::kInput, 0}));
      return;
    }
    if (round == 0) {
      out.push_back(copyMove({owner, Buffer::kOutput, owner}, {a.root, Buffer::kInput, owner}));
      return;
    }
    for (uint32_t k = 1; k < a.size; ++k) {
      const uint32_t q = mod(int64_t{owner} + k, a.size);
      out.push_back(copyMove({owner, Buffer::kOutput, q},
                             {q, q == a.root ? Buffer::kInput : Buffer::kOutput, q}));
    }
  }
};

}  // namespace

const plan::StageAlgorithm& mesh() {
  static const Mesh instance;
  return instance;
}

}  // namespace hccl::algorithms
