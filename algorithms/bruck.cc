// Bruck's AlltoAll for small blocks. Source: Bruck et al., "Efficient algorithms for all-to-all
// communications in multiport message-passing systems" (1997). The block from i to j travels the
// distance d = j - i (mod p) in hops of 2^k, one for each set bit of d, lowest first: ceil(log2 p)
// steps of alpha, each with about half of all blocks, so popcount(d) sends of a block in all.
// Blocks pass through other members, which need not know their lengths: equal blocks only.
//
// In a step a member receives blocks of the distances that it sends. A block in transit lies in
// scratch and output in turn, in the place of its distance, and its last stop is in scratch, so
// that no step writes what it reads.
#include <bit>

#include "algorithms/algorithms.h"
#include "algorithms/moves_builder.h"

namespace hccl::algorithms {
namespace {

class Bruck final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override { return op == StageOp::kAllToAll; }
  bool relays() const override { return true; }
  uint32_t rounds(const StageArgs& a) const override { return plan::ceilLog2(a.size); }

  plan::Cost cost(const StageArgs& a) const override {
    double sends = 0;
    for (uint32_t d = 1; d < a.size; ++d) sends += std::popcount(d);
    return {static_cast<double>(plan::ceilLog2(a.size)), sends / a.size, 0};
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    if (round == 0) {
      out.push_back(copyMove({owner, Buffer::kOutput, owner}, {owner, Buffer::kInput, owner}));
    }
    const uint32_t hop = 1U << round;
    const uint32_t from = mod(int64_t{owner} - hop, a.size);
    Move move{owner, {owner}, {from}, {}};
    for (uint32_t d = hop; d < a.size; ++d) {
      if ((d & hop) == 0) continue;
      const uint32_t before = d & (hop - 1);  // the distance travelled so far
      move.refs.push_back(stop(a, owner, d, before | hop));
      move.refs.push_back(stop(a, from, d, before));
    }
    out.push_back(std::move(move));
  }

 private:
  // Where member r keeps the block of distance d that has come `travelled` of it.
  static Ref stop(const StageArgs& a, uint32_t r, uint32_t d, uint32_t travelled) {
    if (travelled == 0) return {Buffer::kInput, mod(int64_t{r} + d, a.size)};
    const int hopsLeft = std::popcount(d) - std::popcount(travelled);
    if (hopsLeft % 2 == 1) return {Buffer::kScratch, d};
    return {Buffer::kOutput, mod(int64_t{r} - d, a.size)};
  }
};

}  // namespace

const plan::StageAlgorithm& bruck() {
  static const Bruck instance;
  return instance;
}

}  // namespace hccl::algorithms
