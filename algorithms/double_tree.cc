// Double binary tree for Broadcast and Reduce of middle sizes. Source: Sanders, Speck & Traeff,
// "Two-tree algorithms for full bandwidth broadcast, reduction and scan" (2009). Two binary trees
// over all members but the root; who is an inner node in one is a leaf in the other (but for one
// member when their number is odd). Each half of the vector goes through one tree, in kSlices
// slices one behind the other, so every port carries about n in each direction. D = floor(log2
// (p-1)) + 1 levels. Cost about (D + kSlices) (alpha + n / kSlices beta) (+ gamma for Reduce);
// trees of whole vectors need log2 p (alpha + n beta).
#include <bit>

#include "algorithms/algorithms.h"
#include "algorithms/moves_builder.h"
#include "algorithms/parts.h"

namespace hccl::algorithms {
namespace {

constexpr uint32_t kTrees = 2;
constexpr uint32_t kSlices = 4;  // of each half

// One of the trees. Members are numbered from the root: 0 is the root, the others 1..n; a role is a
// place in the tree, 1..n in order from left to right, odd ones leaves.
class Tree {
 public:
  Tree(uint32_t size, uint32_t root, uint32_t which)
      : n_(size - 1), size_(size), root_(root), second_(which == 1) {}

  uint32_t depth(uint32_t member) const {
    uint32_t depth = 0;
    for (uint32_t role = roleOf(member); role != 0; role = up(role)) ++depth;
    return depth;
  }
  uint32_t parent(uint32_t member) const { return memberOf(up(roleOf(member))); }
  std::vector<uint32_t> children(uint32_t member) const {
    const uint32_t role = roleOf(member);
    std::vector<uint32_t> result;
    if (role == 0) {
      result.push_back(memberOf(std::bit_floor(n_)));
      return result;
    }
    const uint32_t half = (role & (~role + 1)) / 2;
    if (half == 0) return result;
    result.push_back(memberOf(role - half));
    uint32_t right = half;
    while (right > 0 && role + right > n_) right /= 2;
    if (right > 0) result.push_back(memberOf(role + right));
    return result;
  }

 private:
  uint32_t up(uint32_t role) const {
    const uint32_t bit = role & (~role + 1);
    const uint32_t above = (role ^ bit) | (bit << 1);
    return above > n_ ? role ^ bit : above;
  }
  // The second tree mirrors or shifts the first, whichever turns odd numbers into even ones.
  uint32_t roleOf(uint32_t member) const {
    const uint32_t number = mod(int64_t{member} - root_, size_);
    if (!second_ || number == 0) return number;
    return n_ % 2 == 0 ? n_ + 1 - number : number % n_ + 1;
  }
  uint32_t memberOf(uint32_t role) const {
    uint32_t number = role;
    if (second_ && role != 0) {
      number = n_ % 2 == 0 ? n_ + 1 - role : (role + n_ - 2) % n_ + 1;
    }
    return mod(int64_t{number} + root_, size_);
  }

  uint32_t n_;
  uint32_t size_;
  uint32_t root_;
  bool second_;
};

class DoubleTree final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override {
    return op == StageOp::kBroadcast || op == StageOp::kReduce;
  }
  bool supportsSize(StageOp, uint32_t size) const override { return size > 1; }
  uint32_t blocks(const StageArgs&) const override { return kTrees * kSlices; }
  uint32_t rounds(const StageArgs& a) const override {
    return levels(a) + kSlices - (a.op == StageOp::kBroadcast ? 1 : 0);
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    const size_t first = out.size();
    for (uint32_t t = 0; t < kTrees; ++t) {
      const Tree tree(a.size, a.root, t);
      const uint32_t depth = tree.depth(owner);
      if (a.op == StageOp::kReduce) {
        const uint32_t begin = levels(a) - depth;
        if (round < begin || round >= begin + kSlices) continue;
        reduce(a, tree, owner, t * kSlices + round - begin, out);
      } else {
        if (depth == 0 || round + 1 < depth || round + 1 >= depth + kSlices) continue;
        const uint32_t block = t * kSlices + round + 1 - depth;
        const uint32_t from = tree.parent(owner);
        out.push_back(copyMove({owner, Buffer::kOutput, block},
                               {from, from == a.root ? Buffer::kInput : Buffer::kOutput, block}));
      }
    }
    joinMoves(out, first);
  }

 private:
  static uint32_t levels(const StageArgs& a) {
    return static_cast<uint32_t>(std::bit_width(a.size - 1));
  }

  // A leaf's parent reads the leaf's input.
  static void reduce(const StageArgs& a, const Tree& tree, uint32_t owner, uint32_t block,
                     std::vector<Move>& out) {
    const std::vector<uint32_t> children = tree.children(owner);
    if (children.empty()) return;
    const bool root = owner == a.root;
    Move move{owner,
              {owner},
              {owner},
              {{root ? Buffer::kOutput : Buffer::kScratch, block}, {Buffer::kInput, block}}};
    for (uint32_t child : children) {
      move.sources.push_back(child);
      move.refs.push_back(
          {tree.children(child).empty() ? Buffer::kInput : Buffer::kScratch, block});
    }
    out.push_back(std::move(move));
  }
};

}  // namespace

const plan::StageAlgorithm& doubleTree() {
  static const DoubleTree instance;
  return instance;
}

}  // namespace hccl::algorithms
