// Ring. Source: HCCL's algorithm notes (ring) and Patarasuk & Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations" (2009).
// p members, block i ends at member i. Cost: p-1 steps of alpha + n/p (beta + gamma) for
// ReduceScatter, the same without gamma for AllGather, both for AllReduce and Reduce (whose second
// half is a gather).
#include "algorithms/algorithms.h"
#include "algorithms/moves_builder.h"

namespace hccl::algorithms {
namespace {

class Ring final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override {
    return op == StageOp::kReduceScatter || op == StageOp::kAllGather ||
           op == StageOp::kAllReduce || op == StageOp::kReduce || op == StageOp::kScatter ||
           op == StageOp::kGather;
  }

  plan::Cost cost(const StageArgs& a) const override {
    const double p = a.size;
    const double part = (p - 1) / p;
    switch (a.op) {
      case StageOp::kReduceScatter:
        return {p - 1, part, part};
      case StageOp::kAllReduce:
        return {2 * (p - 1), 2 * part, part};
      case StageOp::kReduce:
        return {p, 2 * part, part};
      case StageOp::kGather:
        return {1, part, 0};
      default:
        return {p - 1, part, 0};
    }
  }

  uint32_t rounds(const StageArgs& a) const override {
    switch (a.op) {
      case StageOp::kAllReduce:
        return 2 * (a.size - 1);
      case StageOp::kReduce:
        return a.size;
      case StageOp::kGather:
        return 1;
      default:
        return a.size - 1;
    }
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    switch (a.op) {
      case StageOp::kReduceScatter:
        reduceScatter(a, round, owner, Buffer::kScratch, Buffer::kOutput, out);
        break;
      case StageOp::kAllGather:
        allGather(a, round, owner, Buffer::kInput, out);
        break;
      case StageOp::kAllReduce:
        if (round < a.size - 1) {
          reduceScatter(a, round, owner, Buffer::kOutput, Buffer::kOutput, out);
        } else {
          allGather(a, round - (a.size - 1), owner, Buffer::kOutput, out);
        }
        break;
      case StageOp::kReduce:
        if (round < a.size - 1) {
          reduceScatter(a, round, owner, Buffer::kScratch, Buffer::kScratch, out);
        } else if (owner == a.root) {
          gatherBlocks(a, Buffer::kScratch, out);
        }
        break;
      case StageOp::kScatter:
        scatter(a, round, owner, out);
        break;
      case StageOp::kGather:
        if (owner == a.root) gatherBlocks(a, Buffer::kInput, out);
        break;
      default:
        break;
    }
  }

 private:
  // Step t: receive block r-2-t from r-1 and reduce it into the local copy.
  static void reduceScatter(const StageArgs& a, uint32_t t, uint32_t r, Buffer partial,
                            Buffer result, std::vector<Move>& out) {
    const uint32_t left = mod(int64_t{r} - 1, a.size);
    const uint32_t block = mod(int64_t{r} - 2 - t, a.size);
    const bool last = t == a.size - 2;
    out.push_back(reduceMove({r, last ? result : partial, block},
                             {left, t == 0 ? Buffer::kInput : partial, block},
                             {r, Buffer::kInput, block}));
  }

  // Step t: receive block r-1-t from r-1.
  static void allGather(const StageArgs& a, uint32_t t, uint32_t r, Buffer own,
                        std::vector<Move>& out) {
    if (t == 0 && own != Buffer::kOutput) {
      out.push_back(copyMove({r, Buffer::kOutput, r}, {r, own, r}));
    }
    const uint32_t left = mod(int64_t{r} - 1, a.size);
    const uint32_t block = mod(int64_t{r} - 1 - t, a.size);
    out.push_back(
        copyMove({r, Buffer::kOutput, block}, {left, t == 0 ? own : Buffer::kOutput, block}));
  }

  // The root sends the block of the farthest member first; each step moves every block in transit
  // one member on. The member at distance d receives in step t the block of distance p-1-(t-(d-1)).
  static void scatter(const StageArgs& a, uint32_t t, uint32_t r, std::vector<Move>& out) {
    const uint32_t distance = mod(int64_t{r} - a.root, a.size);
    if (distance == 0) {
      if (t == 0) out.push_back(copyMove({r, Buffer::kOutput, r}, {r, Buffer::kInput, r}));
      return;
    }
    if (t + 1 < distance) return;
    const uint32_t travelled = a.size - 1 - (t - (distance - 1));
    if (travelled < distance) return;
    const uint32_t block = mod(int64_t{a.root} + travelled, a.size);
    const uint32_t left = mod(int64_t{r} - 1, a.size);
    out.push_back(copyMove({r, travelled == distance ? Buffer::kOutput : Buffer::kScratch, block},
                           {left, distance == 1 ? Buffer::kInput : Buffer::kScratch, block}));
  }
};

}  // namespace

void gatherBlocks(const StageArgs& a, Buffer from, std::vector<Move>& out) {
  for (uint32_t k = 0; k < a.size; ++k) {
    const uint32_t q = mod(int64_t{a.root} + k, a.size);
    out.push_back(copyMove({a.root, Buffer::kOutput, q}, {q, from, q}));
  }
}

const plan::StageAlgorithm& ring() {
  static const Ring instance;
  return instance;
}

}  // namespace hccl::algorithms
