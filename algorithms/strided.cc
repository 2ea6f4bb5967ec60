#include "algorithms/strided.h"

#include <bit>

namespace hccl::algorithms {
namespace {

// True when member r holds a partial result of block v before step s of ReduceScatter.
bool holdsPartial(uint32_t size, const Walk& walk, uint32_t r, uint32_t v, uint32_t s) {
  const uint32_t distance = mod(walk.direction * (int64_t{r} - v), size);
  for (uint32_t k = 0; k < s; ++k) {
    const uint64_t stride = uint64_t{2} << k;
    if (distance % stride == 0 && distance / stride < blocksInStep(size, stride / 2)) return true;
  }
  return false;
}

uint32_t step(const StageArgs& a, const Walk& walk, uint32_t from, uint64_t distance) {
  return mod(int64_t{from} + walk.direction * static_cast<int64_t>(distance), a.size);
}

// True when the member at distance x from the root has had the block of the member at distance v in
// its hands, on its way from the root.
bool holdsInTransit(uint32_t size, uint64_t x, uint64_t v) {
  while (x != 0) {
    const uint64_t d = std::bit_floor(x);  // x has received at this stride
    const uint64_t beyond = (v + size - x) % size;
    if (beyond % (2 * d) != 0 || beyond / (2 * d) >= blocksInStep(size, d)) return false;
    x -= d;
  }
  return true;
}

// Block k of those that r receives in a step of stride d.
uint32_t ownBlock(const StageArgs& a, const Walk& walk, uint32_t r, uint64_t d, uint32_t k) {
  return mod(int64_t{r} - walk.direction * static_cast<int64_t>(2 * d * k), a.size);
}

}  // namespace

void stridedReduceScatter(const StageArgs& a, const Walk& walk, uint32_t s, uint32_t r,
                          Buffer partialIn, Buffer result, std::vector<Move>& out) {
  const uint64_t d = uint64_t{1} << s;
  const uint32_t from = step(a, walk, r, d);
  const bool last = s + 1 == plan::ceilLog2(a.size);
  Move move{r, {r}, {from, r}, {}};
  for (uint32_t k = 0; k < blocksInStep(a.size, d); ++k) {
    const uint32_t v = ownBlock(a, walk, r, d, k);
    const uint32_t block = walk.position(v);
    move.refs.push_back({last && v == r ? result : partialIn, block});
    move.refs.push_back(
        {holdsPartial(a.size, walk, from, v, s) ? partialIn : Buffer::kInput, block});
    move.refs.push_back({holdsPartial(a.size, walk, r, v, s) ? partialIn : Buffer::kInput, block});
  }
  out.push_back(std::move(move));
}

void stridedScatter(const StageArgs& a, const Walk& walk, uint32_t s, uint32_t r, Buffer transit,
                    std::vector<Move>& out) {
  const uint64_t d = uint64_t{1} << s;
  const bool last = s + 1 == plan::ceilLog2(a.size);
  const uint64_t active = last && 2 * d != a.size ? a.size - d : d;
  const uint64_t delta = mod(walk.direction * (int64_t{a.root} - r), a.size);
  if (delta < d || delta >= d + active) return;
  const uint32_t from = step(a, walk, r, d);
  Move move{r, {r}, {from}, {}};
  for (uint32_t k = 0; k < blocksInStep(a.size, d); ++k) {
    const uint32_t v = ownBlock(a, walk, r, d, k);
    if (!holdsInTransit(a.size, delta - d, mod(walk.direction * (int64_t{a.root} - v), a.size))) {
      continue;
    }
    const uint32_t block = walk.position(v);
    move.refs.push_back({v == r ? Buffer::kOutput : transit, block});
    move.refs.push_back({from == a.root ? Buffer::kInput : transit, block});
  }
  out.push_back(std::move(move));
}

// A member's first partial result is its input.
void reduceTree(const StageArgs& a, uint32_t s, uint32_t r, Buffer partialIn, Buffer result,
                std::vector<Move>& out) {
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

void broadcastTree(const StageArgs& a, uint32_t s, uint32_t r, Buffer atRoot,
                   std::vector<Move>& out) {
  const uint32_t delta = mod(int64_t{r} - a.root, a.size);
  const uint64_t d = uint64_t{1} << (plan::ceilLog2(a.size) - 1 - s);
  if (delta % (2 * d) != d) return;
  const uint32_t from = mod(static_cast<int64_t>(r) - static_cast<int64_t>(d), a.size);
  out.push_back(
      copyMove({r, Buffer::kOutput, 0}, {from, from == a.root ? atRoot : Buffer::kOutput, 0}));
}

}  // namespace hccl::algorithms
