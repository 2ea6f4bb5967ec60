// AHC (asymmetric hierarchical concatenate) and AHC_BROKE: AllReduce, ReduceScatter and AllGather
// on groups (servers, super-pods) of unequal sizes. Source: HCCL's algorithm notes (AHC). G groups.
// AllReduce cuts the vector into U units. In each group a member owns units: full mesh
// ReduceScatter inside; then, for each unit, the owners in all groups (logical cards of the same
// number) run a ring AllReduce; full mesh AllGather inside. AHC: U = least common multiple of the
// group sizes, so all members own equally much. AHC_BROKE: U = smallest group size m, and the first
// m members of each group own a unit each: fewer, longer messages, idle members. m + d = largest
// group. Cost: (2 + 2 (G-1)) alpha + 2 ((m+d-1)/(m+d) + (G-1)/(G m)) n beta + ((m+d-1)/(m+d) +
// (G-1)/(G m)) n gamma.
//
// ReduceScatter and AllGather have a block a member: in each group the member at the same relative
// place (AHC_BROKE: the place modulo m) looks after it, and groups exchange in G-1 rounds.
#include <algorithm>
#include <numeric>

#include "algorithms/algorithms.h"
#include "algorithms/parts.h"

namespace hccl::algorithms {
namespace {

constexpr uint64_t kMostBlocks = 4096;

using Groups = std::vector<std::vector<uint32_t>>;

uint32_t sizeOf(const std::vector<uint32_t>& group) {
  return static_cast<uint32_t>(group.size());
}

class Ahc final : public plan::StageAlgorithm {
 public:
  explicit Ahc(bool broke) : broke_(broke) {}

  bool supports(StageOp op) const override {
    return op == StageOp::kAllReduce || op == StageOp::kReduceScatter || op == StageOp::kAllGather;
  }
  bool spansLevels() const override { return true; }
  bool supportsGroups(const Groups& groups) const override {
    return groups.size() > 1 && units(groups) * groups.size() <= kMostBlocks &&
           std::all_of(groups.begin(), groups.end(),
                       [](const auto& group) { return group.size() <= kMostOperands; });
  }

  uint32_t blocks(const StageArgs& a) const override {
    if (a.op != StageOp::kAllReduce) return a.size;
    return static_cast<uint32_t>(units(*a.groups) * a.groups->size());
  }
  uint32_t rounds(const StageArgs& a) const override {
    const auto groups = static_cast<uint32_t>(a.groups->size());
    return a.op == StageOp::kAllReduce ? 2 * groups : groups + 1;
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    const size_t first = out.size();
    switch (a.op) {
      case StageOp::kAllReduce:
        allReduce(*a.groups, round, owner, out);
        break;
      case StageOp::kReduceScatter:
        reduceScatter(a, round, owner, out);
        break;
      default:
        allGather(a, round, owner, out);
    }
    joinMoves(out, first);
  }

 private:
  uint64_t units(const Groups& groups) const {
    uint64_t result = groups[0].size();
    for (const auto& group : groups) {
      result = broke_ ? std::min<uint64_t>(result, group.size())
                      : std::min(std::lcm(result, uint64_t{group.size()}), kMostBlocks + 1);
    }
    return result;
  }

  static uint32_t groupOf(const Groups& groups, uint32_t member) {
    uint32_t g = 0;
    while (std::find(groups[g].begin(), groups[g].end(), member) == groups[g].end()) ++g;
    return g;
  }

  // ---- AllReduce: ring pieces k of unit u are blocks u * G + k ----

  uint32_t ownerOf(const Groups& groups, uint32_t g, uint64_t unit) const {
    const uint64_t place = broke_ ? unit : unit * groups[g].size() / units(groups);
    return groups[g][place];
  }

  void allReduce(const Groups& groups, uint32_t round, uint32_t owner,
                 std::vector<Move>& out) const {
    const auto count = static_cast<uint32_t>(groups.size());
    const uint32_t last = 2 * count - 1;
    if (round == 0) {
      unitsInside(groups, owner, StageOp::kReduceScatter, Buffer::kInput).moves(0, owner, out);
    } else if (round == last) {
      unitsInside(groups, owner, StageOp::kAllGather, Buffer::kOutput).moves(0, owner, out);
    } else {
      const uint32_t mine = groupOf(groups, owner);
      for (uint64_t unit = 0; unit < units(groups); ++unit) {
        if (ownerOf(groups, mine, unit) != owner) continue;
        Part ring{&algorithms::ring(), StageOp::kAllReduce, {}, {}};
        ring.buffers = {Buffer::kOutput, Buffer::kOutput, Buffer::kScratch};
        for (uint32_t g = 0; g < count; ++g) {
          ring.group.ranks.push_back(ownerOf(groups, g, unit));
          ring.group.blocks.push_back({static_cast<uint32_t>(unit) * count + g});
        }
        ring.moves(round - 1, owner, out);
      }
    }
  }

  Part unitsInside(const Groups& groups, uint32_t owner, StageOp op, Buffer from) const {
    const uint32_t g = groupOf(groups, owner);
    const auto count = static_cast<uint32_t>(groups.size());
    Part part = inside(groups[g], op, from, Buffer::kOutput);
    for (uint64_t unit = 0; unit < units(groups); ++unit) {
      const auto at = std::find(groups[g].begin(), groups[g].end(), ownerOf(groups, g, unit));
      auto& blocks = part.group.blocks[static_cast<size_t>(at - groups[g].begin())];
      for (uint32_t k = 0; k < count; ++k) {
        blocks.push_back(static_cast<uint32_t>(unit) * count + k);
      }
    }
    return part;
  }

  static Part inside(const std::vector<uint32_t>& group, StageOp op, Buffer from, Buffer to) {
    Part part{&algorithms::mesh(), op, {}, {from, to, to}};
    part.group.ranks = group;
    part.group.blocks.resize(group.size());
    return part;
  }

  // ---- ReduceScatter, AllGather: block i belongs to member i ----

  // The member of group g that looks after the block.
  uint32_t keeperOf(const Groups& groups, uint32_t g, uint32_t block) const {
    const uint32_t home = groupOf(groups, block);
    const auto at = std::find(groups[home].begin(), groups[home].end(), block);
    const auto place = static_cast<uint32_t>(at - groups[home].begin());
    return groups[g][broke_ ? place % units(groups)
                            : place * sizeOf(groups[g]) / sizeOf(groups[home])];
  }

  Part blocksInside(const StageArgs& a, uint32_t g, StageOp op, Buffer from, Buffer to) const {
    const auto& group = (*a.groups)[g];
    Part part = inside(group, op, from, to);
    for (uint32_t block = 0; block < a.size; ++block) {
      const auto at = std::find(group.begin(), group.end(), keeperOf(*a.groups, g, block));
      part.group.blocks[static_cast<size_t>(at - group.begin())].push_back(block);
    }
    return part;
  }

  // Inside; then in round k each keeper adds what the group k to the right has of its group's
  // blocks; from the keeper to the owner at last.
  void reduceScatter(const StageArgs& a, uint32_t round, uint32_t owner,
                     std::vector<Move>& out) const {
    const Groups& groups = *a.groups;
    const auto count = static_cast<uint32_t>(groups.size());
    const uint32_t mine = groupOf(groups, owner);
    if (round == 0) {
      blocksInside(a, mine, StageOp::kReduceScatter, Buffer::kInput, Buffer::kScratch)
          .moves(0, owner, out);
    } else if (round < count) {
      for (const uint32_t block : groups[mine]) {
        if (keeperOf(groups, mine, block) != owner) continue;
        const uint32_t from = keeperOf(groups, (mine + round) % count, block);
        out.push_back(reduceMove({owner, Buffer::kScratch, block}, {from, Buffer::kScratch, block},
                                 {owner, Buffer::kScratch, block}));
      }
    } else {
      out.push_back(copyMove({owner, Buffer::kOutput, owner},
                             {keeperOf(groups, mine, owner), Buffer::kScratch, owner}));
    }
  }

  // The same backwards.
  void allGather(const StageArgs& a, uint32_t round, uint32_t owner, std::vector<Move>& out) const {
    const Groups& groups = *a.groups;
    const auto count = static_cast<uint32_t>(groups.size());
    const uint32_t mine = groupOf(groups, owner);
    if (round == 0) {
      out.push_back(copyMove({owner, Buffer::kOutput, owner}, {owner, Buffer::kInput, owner}));
      for (const uint32_t block : groups[mine]) {
        if (block == owner || keeperOf(groups, mine, block) != owner) continue;
        out.push_back(copyMove({owner, Buffer::kOutput, block}, {block, Buffer::kInput, block}));
      }
    } else if (round < count) {
      const uint32_t other = (mine + round) % count;
      for (const uint32_t block : groups[other]) {
        if (keeperOf(groups, mine, block) != owner) continue;
        out.push_back(copyMove({owner, Buffer::kOutput, block},
                               {keeperOf(groups, other, block), Buffer::kOutput, block}));
      }
    } else {
      const size_t first = out.size();
      blocksInside(a, mine, StageOp::kAllGather, Buffer::kOutput, Buffer::kOutput)
          .moves(0, owner, out);
      for (size_t i = first; i < out.size(); ++i) dropBlock(out[i], owner);
      std::erase_if(out, [](const Move& move) { return move.refs.empty(); });
    }
  }

  // A member has its own block, even if another one keeps it for the group.
  static void dropBlock(Move& move, uint32_t block) {
    std::vector<Ref> left;
    for (size_t s = 0; s < move.segments(); ++s) {
      if (move.ref(s, 0).block == block) continue;
      for (size_t o = 0; o < move.operands(); ++o) left.push_back(move.ref(s, o));
    }
    move.refs = std::move(left);
  }

  const bool broke_;
};

}  // namespace

const plan::StageAlgorithm& ahc() {
  static const Ahc instance(false);
  return instance;
}

const plan::StageAlgorithm& ahcBroke() {
  static const Ahc instance(true);
  return instance;
}

}  // namespace hccl::algorithms
