// NHR (nonuniform hierarchical ring). Source: HCCL's algorithm notes (NHR).
// p members, S = ceil(log2 p). ReduceScatter and AllGather: S steps, each rank exchanging in step s
// the blocks that lie an even number of strides 2^s away; cost S alpha + (p-1)/p n (beta + gamma).
// AllReduce is both, on blocks renumbered so that those sent together lie side by side. Scatter
// walks the same tree from the root; Broadcast is Scatter and AllGather. Small data: one binomial
// tree on the whole vector.
#include "algorithms/strided_algorithm.h"

namespace hccl::algorithms {
namespace {

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

class Nhr final : public StridedAlgorithm {
 private:
  Walk walk(uint32_t size, bool mapped) const override {
    return {1, mapped ? blockMap(size) : std::vector<uint32_t>{}};
  }

  // d = 2^(S-1-s): from r-d come blocks r-d, r-3d, ...
  void allGather(const StageArgs& a, uint32_t s, uint32_t r, Buffer own, bool mapped, uint32_t idle,
                 std::vector<Move>& out) const override {
    if (r == idle) return;
    const Walk w = walk(a.size, mapped);
    const uint64_t d = uint64_t{1} << (plan::ceilLog2(a.size) - 1 - s);
    const uint32_t from = mod(static_cast<int64_t>(r) - static_cast<int64_t>(d), a.size);
    Move move{r, {r}, {from}, {}};
    for (uint32_t k = 0; k < blocksInStep(a.size, d); ++k) {
      const uint32_t v = mod(static_cast<int64_t>(from) - static_cast<int64_t>(2 * d * k), a.size);
      const uint32_t block = w.position(v);
      move.refs.push_back({Buffer::kOutput, block});
      move.refs.push_back({from == idle ? Buffer::kInput
                           : v == from  ? own
                                        : Buffer::kOutput,
                           block});
    }
    out.push_back(std::move(move));
  }
};

}  // namespace

const plan::StageAlgorithm& nhr() {
  static const Nhr instance;
  return instance;
}

}  // namespace hccl::algorithms
