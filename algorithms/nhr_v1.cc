// NHR_V1: rings in two dimensions. Source: HCCL's algorithm notes (NHR_V1). The members stand in a
// grid that is nearly square: R rows of W members; when p has no fitting factors, e extra members
// stand at the end of the first e rows. ReduceScatter: a ring in each column, whose slices are
// whole rows (extra members join the last column with an empty slice), then a ring in each row; the
// last member of a row reduces its extra member's block along and hands it over. AllGather is the
// same backwards, AllReduce both, Broadcast a scatter and an AllGather. Cost of a half: (R - 1 + e
// + W - 1
// + 1) alpha + about (p-1)/p n (beta + gamma): ring's volume in about 2 sqrt(p) steps.
#include <algorithm>

#include "algorithms/algorithms.h"
#include "algorithms/parts.h"

namespace hccl::algorithms {
namespace {

constexpr uint32_t kMostSkew = 2;  // columns more than rows, in a full rectangle

struct Grid {
  explicit Grid(uint32_t size) : p(size) {
    uint32_t side = 1;
    while ((side + 1) * (side + 1) <= p) ++side;
    uint32_t left = side;
    while (p % left != 0) --left;
    if (p / left - left <= kMostSkew) {
      rows = left;
      width = p / left;
      return;
    }
    width = side;
    rows = side;
    extras = p - side * side;
    if (extras >= side) {
      ++rows;
      extras -= side;
    }
  }
  uint32_t p;
  uint32_t rows = 1;
  uint32_t width = 1;
  uint32_t extras = 0;

  uint32_t rowOf(uint32_t r) const {
    const uint32_t longRows = extras * (width + 1);
    return r < longRows ? r / (width + 1) : extras + (r - longRows) / width;
  }
  uint32_t begin(uint32_t row) const { return row * width + std::min(row, extras); }
  uint32_t end(uint32_t row) const { return begin(row + 1); }
  // Extra members count to the last column.
  uint32_t columnOf(uint32_t r) const { return std::min(r - begin(rowOf(r)), width - 1); }
  bool isExtra(uint32_t r) const { return r - begin(rowOf(r)) == width; }
  uint32_t columnRing(uint32_t column) const { return rows + (column + 1 == width ? extras : 0); }
};

class NhrV1 final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override {
    return op == StageOp::kAllReduce || op == StageOp::kReduceScatter ||
           op == StageOp::kAllGather || op == StageOp::kBroadcast;
  }

  uint32_t rounds(const StageArgs& a) const override {
    const Grid grid(a.size);
    const uint32_t half = columnRounds(grid) + grid.width - 1;
    return a.op == StageOp::kAllReduce || a.op == StageOp::kBroadcast ? 2 * half : half + 1;
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    const Grid grid(a.size);
    const uint32_t half = columnRounds(grid) + grid.width - 1;
    switch (a.op) {
      case StageOp::kReduceScatter:
        if (round < half) {
          reduceScatter(grid, round, owner, Buffer::kScratch, out);
        } else {
          const uint32_t from = grid.isExtra(owner) ? owner - 1 : owner;
          const bool reduced = half > 0;
          out.push_back(copyMove({owner, Buffer::kOutput, owner},
                                 {from, reduced ? Buffer::kScratch : Buffer::kInput, owner}));
        }
        break;
      case StageOp::kAllGather:
        if (round == 0) {
          begin(grid, owner, out);
        } else {
          allGather(grid, round - 1, owner, out);
        }
        break;
      case StageOp::kAllReduce:
        if (round < half) {
          reduceScatter(grid, round, owner, Buffer::kOutput, out);
        } else {
          allGather(grid, round - half, owner, out);
        }
        break;
      default:
        broadcast(a, grid, round, owner, out);
    }
  }

 private:
  static uint32_t columnRounds(const Grid& grid) { return grid.columnRing(grid.width - 1) - 1; }

  static std::vector<uint32_t> blocksOfRow(const Grid& grid, uint32_t row) {
    std::vector<uint32_t> blocks;
    for (uint32_t r = grid.begin(row); r < grid.end(row); ++r) blocks.push_back(r);
    return blocks;
  }

  static Part column(const Grid& grid, uint32_t index, StageOp op, std::array<Buffer, 3> buffers) {
    Part part{&algorithms::ring(), op, {}, buffers};
    for (uint32_t row = 0; row < grid.rows; ++row) {
      part.group.ranks.push_back(grid.begin(row) + index);
      part.group.blocks.push_back(blocksOfRow(grid, row));
    }
    if (index + 1 < grid.width) return part;
    for (uint32_t row = 0; row < grid.extras; ++row) {
      part.group.ranks.push_back(grid.end(row) - 1);
      part.group.blocks.emplace_back();
    }
    return part;
  }

  static Part rowRing(const Grid& grid, uint32_t row, StageOp op, std::array<Buffer, 3> buffers) {
    Part part{&algorithms::ring(), op, {}, buffers};
    for (uint32_t c = 0; c < grid.width; ++c) {
      part.group.ranks.push_back(grid.begin(row) + c);
      part.group.blocks.push_back({grid.begin(row) + c});
    }
    if (row < grid.extras) part.group.blocks.back().push_back(grid.end(row) - 1);
    return part;
  }

  // Columns, then rows.
  static void reduceScatter(const Grid& grid, uint32_t round, uint32_t owner, Buffer partial,
                            std::vector<Move>& out) {
    const uint32_t columns = columnRounds(grid);
    if (round < columns) {
      column(grid, grid.columnOf(owner), StageOp::kReduceScatter,
             {Buffer::kInput, partial, partial})
          .moves(round, owner, out);
      return;
    }
    const Buffer from = columns > 0 ? partial : Buffer::kInput;
    rowRing(grid, grid.rowOf(owner), StageOp::kReduceScatter, {from, partial, partial})
        .moves(round - columns, owner, out);
  }

  // Own blocks, and those of extra members with the last ones of their rows, are in the output.
  static void begin(const Grid& grid, uint32_t owner, std::vector<Move>& out) {
    out.push_back(copyMove({owner, Buffer::kOutput, owner}, {owner, Buffer::kInput, owner}));
    const uint32_t next = owner + 1;
    if (next < grid.p && grid.isExtra(next) && !grid.isExtra(owner)) {
      out.push_back(copyMove({owner, Buffer::kOutput, next}, {next, Buffer::kInput, next}));
    }
  }

  // Rows, then columns.
  static void allGather(const Grid& grid, uint32_t round, uint32_t owner, std::vector<Move>& out) {
    const std::array<Buffer, 3> buffers = {Buffer::kOutput, Buffer::kOutput, Buffer::kOutput};
    if (round < grid.width - 1) {
      rowRing(grid, grid.rowOf(owner), StageOp::kAllGather, buffers).moves(round, owner, out);
    } else {
      column(grid, grid.columnOf(owner), StageOp::kAllGather, buffers)
          .moves(round - (grid.width - 1), owner, out);
    }
  }

  // The root's column scatters rows, each row scatters; then AllGather. The root takes nothing and
  // gives out of its input.
  static void broadcast(const StageArgs& a, const Grid& grid, uint32_t round, uint32_t owner,
                        std::vector<Move>& out) {
    if (owner == a.root) return;
    const uint32_t columns = columnRounds(grid);
    const uint32_t index = grid.columnOf(a.root);
    const std::array<Buffer, 3> buffers = {Buffer::kOutput, Buffer::kOutput, Buffer::kOutput};
    const size_t first = out.size();
    if (round < columns) {
      Part part = column(grid, index, StageOp::kScatter, buffers);
      const uint32_t row = grid.rowOf(a.root);
      part.group.root = grid.isExtra(a.root) ? grid.rows + row : row;
      part.moves(round, owner, out);
    } else if (round < columns + grid.width - 1) {
      Part part = rowRing(grid, grid.rowOf(owner), StageOp::kScatter, buffers);
      part.group.root = index;
      part.moves(round - columns, owner, out);
    } else {
      allGather(grid, round - columns - (grid.width - 1), owner, out);
    }
    for (size_t i = first; i < out.size(); ++i) {
      Move& move = out[i];
      for (size_t s = 0; s < move.segments(); ++s) {
        for (size_t o = move.targets.size(); o < move.operands(); ++o) {
          if (move.rankOf(o) != a.root) continue;
          move.refs[s * move.operands() + o].buffer = Buffer::kInput;
        }
      }
    }
  }
};

}  // namespace

const plan::StageAlgorithm& nhrV1() {
  static const NhrV1 instance;
  return instance;
}

}  // namespace hccl::algorithms
