// H-D_R (recursive halving and doubling, any number of members). Source: HCCL's algorithm notes
// (RHD); Rabenseifner, "Optimization of collective reduction operations" (2004). p members, B =
// 2^floor(log2 p), the first 2(p - B) form pairs: the odd one hands its vector to the even one
// before, and gets the result after. The B representatives halve (distance B/2 .. 1: each keeps and
// reduces the half that holds its block) and double back. Cost for p = B: 2 log p alpha + 2 (p-1)/p
// n beta + (p-1)/p n gamma; else two steps and 2n more. Broadcast is a binomial tree among
// representatives of the whole vector.
#include "algorithms/algorithms.h"
#include "algorithms/moves_builder.h"
#include "algorithms/pairs.h"

namespace hccl::algorithms {
namespace {

class HalvingDoubling final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override {
    return op == StageOp::kAllReduce || op == StageOp::kReduce || op == StageOp::kBroadcast ||
           op == StageOp::kReduceScatter || op == StageOp::kAllGather || op == StageOp::kGather;
  }

  uint32_t blocks(const StageArgs& a) const override {
    if (hasMemberBlocks(a.op)) return a.size;
    return a.op == StageOp::kBroadcast ? 1 : Pairs(a.size).block;
  }

  uint32_t rounds(const StageArgs& a) const override {
    const Pairs p(a.size);
    switch (a.op) {
      case StageOp::kAllReduce:
        return 2 * p.steps + 2;
      case StageOp::kReduce:
        return p.steps + 2;
      case StageOp::kBroadcast:
        return p.steps + 1;
      case StageOp::kGather:
        return 1;
      default:
        return p.steps + 2 * before(p);
    }
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    const Pairs p(a.size);
    switch (a.op) {
      case StageOp::kAllReduce:
        if (round == 0) {
          merge(p, owner, p.block, Buffer::kOutput, out);
        } else if (round <= p.steps) {
          halve(a, p, round - 1, owner, Buffer::kOutput, out);
        } else if (round <= 2 * p.steps) {
          doubleUp(a, p, round - 1 - p.steps, owner, Buffer::kOutput, out);
        } else if (p.isOdd(owner)) {
          copyAll(owner, owner - 1, p.block, p.block, out);
        }
        break;
      case StageOp::kReduce:
        if (round == 0) {
          merge(p, owner, p.block, Buffer::kScratch, out);
        } else if (round <= p.steps) {
          halve(a, p, round - 1, owner, Buffer::kScratch, out);
        } else if (owner == a.root) {
          for (uint32_t b = 0; b < p.block; ++b) {
            const uint32_t from = p.member(b);
            const Buffer at = p.steps == 0 && !p.inPair(from) ? Buffer::kInput : Buffer::kScratch;
            out.push_back(copyMove({owner, Buffer::kOutput, b}, {from, at, b}));
          }
        }
        break;
      case StageOp::kReduceScatter:
        reduceScatter(a, p, round, owner, out);
        break;
      case StageOp::kAllGather:
        allGather(a, p, round, owner, out);
        break;
      case StageOp::kGather:
        if (owner == a.root) gatherBlocks(a, Buffer::kInput, out);
        break;
      case StageOp::kBroadcast:
        broadcast(a, p, round, owner, out);
        break;
      default:
        break;
    }
  }

 private:
  static bool hasMemberBlocks(StageOp op) {
    return op == StageOp::kReduceScatter || op == StageOp::kAllGather || op == StageOp::kGather;
  }
  static uint32_t before(const Pairs& p) { return p.paired > 0 ? 1 : 0; }

  // The blocks that fall to a representative: its own one and its pair's, or one of the vector.
  static std::vector<uint32_t> share(const StageArgs& a, const Pairs& p, uint32_t number) {
    if (!hasMemberBlocks(a.op)) return {number};
    const uint32_t member = p.member(number);
    return p.inPair(member) ? std::vector<uint32_t>{member, member + 1}
                            : std::vector<uint32_t>{member};
  }

  static void merge(const Pairs& p, uint32_t r, uint32_t blocks, Buffer to,
                    std::vector<Move>& out) {
    if (!p.inPair(r) || p.isOdd(r)) return;
    Move move{r, {r}, {r, r + 1}, {}};
    for (uint32_t b = 0; b < blocks; ++b) {
      move.refs.push_back({to, b});
      move.refs.push_back({Buffer::kInput, b});
      move.refs.push_back({Buffer::kInput, b});
    }
    out.push_back(std::move(move));
  }

  static void reduceScatter(const StageArgs& a, const Pairs& p, uint32_t round, uint32_t owner,
                            std::vector<Move>& out) {
    if (round < before(p)) {
      merge(p, owner, a.size, Buffer::kScratch, out);
    } else if (round - before(p) < p.steps) {
      halve(a, p, round - before(p), owner, Buffer::kScratch, out);
    } else if (p.isOdd(owner)) {
      out.push_back(
          copyMove({owner, Buffer::kOutput, owner}, {owner - 1, Buffer::kScratch, owner}));
    }
  }

  static void allGather(const StageArgs& a, const Pairs& p, uint32_t round, uint32_t owner,
                        std::vector<Move>& out) {
    if (round == 0) {
      out.push_back(copyMove({owner, Buffer::kOutput, owner}, {owner, Buffer::kInput, owner}));
    }
    if (round < before(p)) {
      const uint32_t odd = owner + 1;
      if (!p.inPair(owner) || p.isOdd(owner)) return;
      out.push_back(copyMove({owner, Buffer::kOutput, odd}, {odd, Buffer::kInput, odd}));
    } else if (round - before(p) < p.steps) {
      doubleUp(a, p, round - before(p), owner, Buffer::kInput, out);
    } else if (p.isOdd(owner)) {
      copyAll(owner, owner - 1, a.size, owner, out);
    }
  }

  // All blocks but `own`.
  static void copyAll(uint32_t to, uint32_t from, uint32_t blocks, uint32_t own,
                      std::vector<Move>& out) {
    Move move{to, {to}, {from}, {}};
    for (uint32_t b = 0; b < blocks; ++b) {
      if (b == own) continue;
      move.refs.push_back({Buffer::kOutput, b});
      move.refs.push_back({Buffer::kOutput, b});
    }
    out.push_back(std::move(move));
  }

  // Step t, mask = B / 2^(t+1): keep the half with the own block, take the partner's part of it.
  static void halve(const StageArgs& a, const Pairs& p, uint32_t t, uint32_t r, Buffer partial,
                    std::vector<Move>& out) {
    if (p.isOdd(r)) return;
    const uint32_t v = p.number(r);
    const uint32_t mask = p.block >> (t + 1);
    const uint32_t from = p.member(v ^ mask);
    const auto source = [&](uint32_t member) {
      return t > 0 || p.inPair(member) ? partial : Buffer::kInput;
    };
    Move move{r, {r}, {from, r}, {}};
    for (uint32_t b = v & ~(mask - 1); b < (v & ~(mask - 1)) + mask; ++b) {
      for (uint32_t block : share(a, p, b)) {
        const bool own = hasMemberBlocks(a.op) && mask == 1 && block == r;
        move.refs.push_back({own ? Buffer::kOutput : partial, block});
        move.refs.push_back({source(from), block});
        move.refs.push_back({source(r), block});
      }
    }
    out.push_back(std::move(move));
  }

  // Step t, mask = 2^t: take the half that the partner has.
  static void doubleUp(const StageArgs& a, const Pairs& p, uint32_t t, uint32_t r, Buffer own,
                       std::vector<Move>& out) {
    if (p.isOdd(r)) return;
    const uint32_t mask = 1U << t;
    const uint32_t partner = p.number(r) ^ mask;
    const uint32_t from = p.member(partner);
    Move move{r, {r}, {from}, {}};
    for (uint32_t b = partner & ~(mask - 1); b < (partner & ~(mask - 1)) + mask; ++b) {
      for (uint32_t block : share(a, p, b)) {
        move.refs.push_back({Buffer::kOutput, block});
        move.refs.push_back({block == from ? own : Buffer::kOutput, block});
      }
    }
    out.push_back(std::move(move));
  }

  // When the root is an odd member of a pair, the odd ones represent their pairs.
  static void broadcast(const StageArgs& a, const Pairs& p, uint32_t round, uint32_t r,
                        std::vector<Move>& out) {
    const uint32_t odd = p.isOdd(a.root) ? 1 : 0;
    const auto place = [&](uint32_t member) {
      return Place{member, member == a.root ? Buffer::kInput : Buffer::kOutput, 0};
    };
    const bool represents = !p.inPair(r) || r % 2 == odd;
    if (round == p.steps) {
      if (!represents) out.push_back(copyMove({r, Buffer::kOutput, 0}, place(r ^ 1)));
      return;
    }
    if (!represents) return;
    const uint32_t distance =
        p.number(p.inPair(r) ? r & ~1U : r) ^ p.number(p.inPair(a.root) ? a.root & ~1U : a.root);
    const uint32_t mask = p.block >> (round + 1);
    // Reached in this step: exactly those whose distance to the root ends in this bit.
    if (distance % (2 * mask) != mask) return;
    const uint32_t number = p.number(p.inPair(r) ? r & ~1U : r) ^ mask;
    uint32_t from = p.member(number);
    if (p.inPair(from)) from += odd;
    out.push_back(copyMove({r, Buffer::kOutput, 0}, place(from)));
  }
};

}  // namespace

const plan::StageAlgorithm& halvingDoubling() {
  static const HalvingDoubling instance;
  return instance;
}

}  // namespace hccl::algorithms
