// Recursive doubling for small AllReduce. Source: Thakur, Rabenseifner & Gropp, "Optimization of
// collective communication operations in MPICH" (2005). In step t everybody exchanges the whole
// vector with the partner whose number differs in bit t, and both reduce; after log2 p steps all
// hold the result. Other member counts: the first ones form pairs (pairs.h), whose odd member hands
// in its vector before and gets the result after. Cost for p = 2^k: k (alpha + n beta + n gamma);
// else two steps more. Half the steps of a tree up and down, for more traffic in all.
//
// Partners read each other's vector while they write their own: results go to scratch and output in
// turn, so that no step writes what it reads. Both combine the lower member's vector first: equal
// bits on all members.
#include <algorithm>

#include "algorithms/algorithms.h"
#include "algorithms/moves_builder.h"
#include "algorithms/pairs.h"

namespace hccl::algorithms {
namespace {

class RecursiveDoubling final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override { return op == StageOp::kAllReduce; }
  uint32_t blocks(const StageArgs&) const override { return 1; }

  plan::Cost cost(const StageArgs& a) const override {
    const Pairs p(a.size);
    const double pairs = p.paired > 0 ? 1 : 0;
    const double steps = p.steps + 2 * pairs;
    return {steps, steps, p.steps + pairs};
  }

  uint32_t rounds(const StageArgs& a) const override {
    const Pairs p(a.size);
    return before(p) + p.steps + (p.paired > 0 || p.steps % 2 == 1 ? 1 : 0);
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    const Pairs p(a.size);
    if (round < before(p)) {
      if (p.inPair(owner) && !p.isOdd(owner)) {
        out.push_back(reduceMove({owner, Buffer::kOutput, 0}, {owner, Buffer::kInput, 0},
                                 {owner + 1, Buffer::kInput, 0}));
      }
      return;
    }
    const uint32_t step = round - before(p);
    if (step == p.steps) {
      const uint32_t from = p.isOdd(owner) ? owner - 1 : owner;
      const Buffer at = place(p, from, step);
      if (from == owner && at == Buffer::kOutput) return;
      out.push_back(copyMove({owner, Buffer::kOutput, 0}, {from, at, 0}));
      return;
    }
    if (p.isOdd(owner)) return;
    const uint32_t partner = p.member(p.number(owner) ^ (1U << step));
    const uint32_t low = std::min(owner, partner);
    const uint32_t high = std::max(owner, partner);
    out.push_back(reduceMove({owner, step % 2 == 0 ? Buffer::kScratch : Buffer::kOutput, 0},
                             {low, place(p, low, step), 0}, {high, place(p, high, step), 0}));
  }

 private:
  static uint32_t before(const Pairs& p) { return p.paired > 0 ? 1 : 0; }
  // Where a representative's vector is before the step.
  static Buffer place(const Pairs& p, uint32_t member, uint32_t step) {
    if (step == 0) return p.inPair(member) ? Buffer::kOutput : Buffer::kInput;
    return step % 2 == 1 ? Buffer::kScratch : Buffer::kOutput;
  }
};

}  // namespace

const plan::StageAlgorithm& recursiveDoubling() {
  static const RecursiveDoubling instance;
  return instance;
}

}  // namespace hccl::algorithms
