// NHR (nonuniform hierarchical ring). Source: HCCL's algorithm notes (NHR).
// p members, S = ceil(log2 p). ReduceScatter and AllGather: S steps, each rank exchanging in step s
// the blocks that lie an even number of strides 2^s away; cost S alpha + (p-1)/p n (beta + gamma).
// AllReduce is both, on blocks renumbered so that those sent together lie side by side. Scatter
// walks the same tree from the root; Broadcast is Scatter and AllGather. Small data: one binomial
// tree on the whole vector.
#include "algorithms/algorithms.h"
#include "algorithms/moves_builder.h"

namespace hccl::algorithms {
namespace {

// Blocks exchanged in a step of stride d.
uint32_t blocksInStep(uint32_t size, uint64_t d) {
  return static_cast<uint32_t>((size - 1 + d) / (2 * d));
}

// Position of each virtual block: those that a step sends together become neighbours.
std::vector<uint32_t> blockMap(uint32_t size) {
  std::vector<uint32_t> tree(size);
  for (uint32_t i = 0; i < size; ++i) tree[i] = i;
  uint32_t length = size;
  for (uint32_t step = 0; step < plan::ceilLog2(size); ++step) {
    if (blocksInStep(size, uint64_t{1} << step) <= 1) break;
    std::vector<uint32_t> moved(size);
    bool odd = false;
    for (uint32_t start = 0; start < size; start += length) {
      const uint32_t part = std::min(length, size - start);
      odd = odd || part % 2 != 0;
      for (uint32_t o = 0; o < part; ++o) {
        moved[start + (o % 2 == 0 ? o / 2 : (o + part) / 2)] = tree[start + o];
      }
    }
    tree = moved;
    if (odd) break;
    length /= 2;
  }
  std::vector<uint32_t> map(size);
  for (uint32_t i = 0; i < size; ++i) map[tree[i]] = i;
  return map;
}

class Nhr final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override {
    return op != StageOp::kAllToAll && op != StageOp::kGather;
  }
  bool supportsOneShot(StageOp op) const override {
    return op == StageOp::kAllReduce || op == StageOp::kBroadcast || op == StageOp::kReduce;
  }

  uint32_t rounds(const StageArgs& a) const override {
    const uint32_t steps = plan::ceilLog2(a.size);
    switch (a.op) {
      case StageOp::kAllReduce:
        return 2 * steps;
      case StageOp::kBroadcast:
        return a.oneShot ? steps : 2 * steps;
      case StageOp::kReduce:
        return a.oneShot ? steps : steps + 1;
      default:
        return steps;
    }
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    const uint32_t steps = plan::ceilLog2(a.size);
    switch (a.op) {
      case StageOp::kReduceScatter:
        reduceScatter(a, round, owner, Buffer::kScratch, Buffer::kOutput, false, out);
        break;
      case StageOp::kAllGather:
        if (round == 0)
          out.push_back(copyMove({owner, Buffer::kOutput, owner}, {owner, Buffer::kInput, owner}));
        allGather(a, round, owner, Buffer::kInput, false, a.size, out);
        break;
      case StageOp::kAllReduce:
        if (a.oneShot) {
          if (round < steps) {
            reduceTree(a, round, owner, Buffer::kOutput, Buffer::kOutput, out);
          } else {
            broadcastTree(a, round - steps, owner, Buffer::kOutput, out);
          }
        } else if (round < steps) {
          reduceScatter(a, round, owner, Buffer::kOutput, Buffer::kOutput, true, out);
        } else {
          allGather(a, round - steps, owner, Buffer::kOutput, true, a.size, out);
        }
        break;
      case StageOp::kBroadcast:
        if (a.oneShot) {
          broadcastTree(a, round, owner, Buffer::kInput, out);
        } else if (round < steps) {
          scatter(a, round, owner, Buffer::kOutput, true, out);
        } else {
          allGather(a, round - steps, owner, Buffer::kOutput, true, a.root, out);
        }
        break;
      case StageOp::kScatter:
        if (round == 0 && owner == a.root) {
          out.push_back(copyMove({owner, Buffer::kOutput, owner}, {owner, Buffer::kInput, owner}));
        }
        scatter(a, round, owner, Buffer::kScratch, false, out);
        break;
      case StageOp::kReduce:
        if (a.oneShot) {
          reduceTree(a, round, owner, Buffer::kScratch, Buffer::kOutput, out);
        } else if (round < steps) {
          reduceScatter(a, round, owner, Buffer::kScratch, Buffer::kScratch, false, out);
        } else if (owner == a.root) {
          gatherBlocks(a, Buffer::kScratch, out);
        }
        break;
      default:
        break;
    }
  }

 private:
  // True when member r holds a partial result of block v before step s of ReduceScatter.
  static bool partial(uint32_t size, uint32_t r, uint32_t v, uint32_t s) {
    const uint32_t distance = mod(int64_t{r} - v, size);
    for (uint32_t k = 0; k < s; ++k) {
      const uint64_t stride = uint64_t{2} << k;
      if (distance % stride == 0 && distance / stride < blocksInStep(size, stride / 2)) return true;
    }
    return false;
  }

  static uint32_t position(const std::vector<uint32_t>& map, uint32_t v) {
    return map.empty() ? v : map[v];
  }

  // Step s, d = 2^s: from r+d come blocks r, r-2d, r-4d, ...
  static void reduceScatter(const StageArgs& a, uint32_t s, uint32_t r, Buffer partialIn,
                            Buffer result, bool mapped, std::vector<Move>& out) {
    const std::vector<uint32_t> map = mapped ? blockMap(a.size) : std::vector<uint32_t>{};
    const uint64_t d = uint64_t{1} << s;
    const uint32_t from = mod(static_cast<int64_t>(r + d), a.size);
    const bool last = s + 1 == plan::ceilLog2(a.size);
    Move move{r, {r}, {from, r}, {}};
    for (uint32_t k = 0; k < blocksInStep(a.size, d); ++k) {
      const uint32_t v = mod(static_cast<int64_t>(r) - static_cast<int64_t>(2 * d * k), a.size);
      const uint32_t block = position(map, v);
      move.refs.push_back({last && v == r ? result : partialIn, block});
      move.refs.push_back({partial(a.size, from, v, s) ? partialIn : Buffer::kInput, block});
      move.refs.push_back({partial(a.size, r, v, s) ? partialIn : Buffer::kInput, block});
    }
    out.push_back(std::move(move));
  }

  // Step s, d = 2^(S-1-s): from r-d come blocks r-d, r-3d, ... `own`: where a member's own block
  // starts. Member `idle` (a broadcast's root) takes nothing and gives out of its input.
  static void allGather(const StageArgs& a, uint32_t s, uint32_t r, Buffer own, bool mapped,
                        uint32_t idle, std::vector<Move>& out) {
    if (r == idle) return;
    const std::vector<uint32_t> map = mapped ? blockMap(a.size) : std::vector<uint32_t>{};
    const uint64_t d = uint64_t{1} << (plan::ceilLog2(a.size) - 1 - s);
    const uint32_t from = mod(static_cast<int64_t>(r) - static_cast<int64_t>(d), a.size);
    Move move{r, {r}, {from}, {}};
    for (uint32_t k = 0; k < blocksInStep(a.size, d); ++k) {
      const uint32_t v = mod(static_cast<int64_t>(from) - static_cast<int64_t>(2 * d * k), a.size);
      const uint32_t block = position(map, v);
      const bool ownBlock = v == from;
      move.refs.push_back({Buffer::kOutput, block});
      move.refs.push_back({from == idle ? Buffer::kInput
                           : ownBlock   ? own
                                        : Buffer::kOutput,
                           block});
    }
    out.push_back(std::move(move));
  }

  // Step s, d = 2^s: members closer than `active` (counted downwards from the root) hand on what
  // lies beyond; r receives from r+d blocks r, r-2d, ...
  static void scatter(const StageArgs& a, uint32_t s, uint32_t r, Buffer transit, bool mapped,
                      std::vector<Move>& out) {
    const std::vector<uint32_t> map = mapped ? blockMap(a.size) : std::vector<uint32_t>{};
    const uint64_t d = uint64_t{1} << s;
    const bool last = s + 1 == plan::ceilLog2(a.size);
    const uint64_t active = last && 2 * d != a.size ? a.size - d : d;
    const uint64_t delta = mod(int64_t{a.root} - r, a.size);
    if (delta < d || delta >= d + active) return;
    const uint32_t from = mod(static_cast<int64_t>(r + d), a.size);
    Move move{r, {r}, {from}, {}};
    for (uint32_t k = 0; k < blocksInStep(a.size, d); ++k) {
      const uint32_t v = mod(static_cast<int64_t>(r) - static_cast<int64_t>(2 * d * k), a.size);
      const uint32_t block = position(map, v);
      move.refs.push_back({v == r ? Buffer::kOutput : transit, block});
      move.refs.push_back({from == a.root ? Buffer::kInput : transit, block});
    }
    out.push_back(std::move(move));
  }

  // Binomial tree towards the root; a member's first partial result is its input.
  static void reduceTree(const StageArgs& a, uint32_t s, uint32_t r, Buffer partialIn,
                         Buffer result, std::vector<Move>& out) {
    const uint32_t delta = mod(int64_t{r} - a.root, a.size);
    const uint64_t d = uint64_t{1} << s;
    if (delta % (2 * d) != 0 || delta + d >= a.size) return;
    const uint32_t from = mod(static_cast<int64_t>(r + d), a.size);
    const bool last = delta == 0 && s + 1 == plan::ceilLog2(a.size);
    const bool sentPartial = s > 0 && delta + d + 1 < a.size;
    out.push_back(reduceMove({r, last ? result : partialIn, 0},
                             {from, sentPartial ? partialIn : Buffer::kInput, 0},
                             {r, s == 0 ? Buffer::kInput : partialIn, 0}));
  }

  // The same tree from the root outwards, widest stride first.
  static void broadcastTree(const StageArgs& a, uint32_t s, uint32_t r, Buffer atRoot,
                            std::vector<Move>& out) {
    const uint32_t delta = mod(int64_t{r} - a.root, a.size);
    const uint64_t d = uint64_t{1} << (plan::ceilLog2(a.size) - 1 - s);
    if (delta % (2 * d) != d) return;
    const uint32_t from = mod(static_cast<int64_t>(r) - static_cast<int64_t>(d), a.size);
    out.push_back(
        copyMove({r, Buffer::kOutput, 0}, {from, from == a.root ? atRoot : Buffer::kOutput, 0}));
  }
};

}  // namespace

const plan::StageAlgorithm& nhr() {
  static const Nhr instance;
  return instance;
}

}  // namespace hccl::algorithms
