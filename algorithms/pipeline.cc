// Pipeline: a ring between groups (servers) with the exchange inside of the groups overlapped.
// Source: HCCL's algorithm notes (pipeline). G groups of A members each; members with the same
// place in their group form a ring. AllGather round t: a member receives from the ring what its
// left neighbour got in round t-1, and meanwhile collects from its own group what they got in round
// t-1. ReduceScatter is the same backwards: while a partial result travels, the group reduces its
// share of the next one. Cost: (G-1) max(inter, intra) + intra, where inter = alpha + n/p beta and
// intra = alpha + (A-1) n/p beta (+ gamma); AllReduce is both halves.
#include <algorithm>

#include "algorithms/algorithms.h"
#include "algorithms/moves_builder.h"

namespace hccl::algorithms {
namespace {

// Where a member is: group, place in it.
struct Seat {
  Seat(const StageArgs& a, uint32_t member) : groups(*a.groups) {
    for (group = 0; group < groups.size(); ++group) {
      const auto& g = groups[group];
      const auto at = std::find(g.begin(), g.end(), member);
      if (at == g.end()) continue;
      place = static_cast<uint32_t>(at - g.begin());
      return;
    }
  }
  const std::vector<std::vector<uint32_t>>& groups;
  uint32_t group = 0;
  uint32_t place = 0;

  uint32_t count() const { return static_cast<uint32_t>(groups.size()); }
  // The member at this place (or another) of the group `back` steps to the left.
  uint32_t member(int64_t back) const { return member(back, place); }
  uint32_t member(int64_t back, uint32_t at) const {
    return groups[mod(int64_t{group} - back, count())][at];
  }
};

class Pipeline final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override {
    return op == StageOp::kAllReduce || op == StageOp::kReduceScatter || op == StageOp::kAllGather;
  }
  bool spansLevels() const override { return true; }
  bool supportsGroups(const std::vector<std::vector<uint32_t>>& groups) const override {
    return groups.size() > 1 && groups[0].size() > 1 && groups[0].size() <= kMostOperands &&
           std::all_of(groups.begin(), groups.end(),
                       [&](const auto& group) { return group.size() == groups[0].size(); });
  }

  uint32_t rounds(const StageArgs& a) const override {
    const auto groups = static_cast<uint32_t>(a.groups->size());
    switch (a.op) {
      case StageOp::kAllReduce:
        return 2 * groups + 1;
      case StageOp::kReduceScatter:
        return groups + 1;
      default:
        return groups;
    }
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    const Seat seat(a, owner);
    switch (a.op) {
      case StageOp::kReduceScatter:
        reduceScatter(seat, round, owner, Buffer::kScratch, out);
        break;
      case StageOp::kAllGather:
        allGather(seat, round, owner, Buffer::kInput, out);
        break;
      default:
        if (round <= seat.count()) {
          reduceScatter(seat, round, owner, Buffer::kOutput, out);
        } else {
          allGather(seat, round - seat.count() - 1, owner, Buffer::kOutput, out);
        }
    }
  }

 private:
  // Step t is about the block of the member t+1 groups to the left (the own one at last): the group
  // reduces its share in round t, what comes from the left is added in round t+1.
  static void reduceScatter(const Seat& seat, uint32_t round, uint32_t owner, Buffer partial,
                            std::vector<Move>& out) {
    if (round < seat.count()) {
      const uint32_t block = seat.member(round + 1);
      Move share{owner, {owner}, {}, {{partial, block}}};
      for (uint32_t at = 0; at < seat.groups[seat.group].size(); ++at) {
        share.sources.push_back(seat.member(0, at));
        share.refs.push_back({Buffer::kInput, block});
      }
      out.push_back(std::move(share));
    }
    if (round < 2) return;
    const uint32_t block = seat.member(round);
    const Buffer result = round == seat.count() ? Buffer::kOutput : partial;
    out.push_back(reduceMove({owner, result, block}, {seat.member(1), partial, block},
                             {owner, partial, block}));
  }

  static void allGather(const Seat& seat, uint32_t round, uint32_t owner, Buffer own,
                        std::vector<Move>& out) {
    const Buffer source = round == 0 ? own : Buffer::kOutput;
    if (round == 0 && own != Buffer::kOutput) {
      out.push_back(copyMove({owner, Buffer::kOutput, owner}, {owner, own, owner}));
    }
    if (round + 1 < seat.count()) {
      const uint32_t block = seat.member(round + 1);
      out.push_back(copyMove({owner, Buffer::kOutput, block}, {seat.member(1), source, block}));
    }
    const auto places = static_cast<uint32_t>(seat.groups[seat.group].size());
    for (uint32_t k = 1; k < places; ++k) {
      const uint32_t at = (seat.place + k) % places;
      const uint32_t block = seat.member(round, at);
      out.push_back(copyMove({owner, Buffer::kOutput, block}, {seat.member(0, at), source, block}));
    }
  }
};

}  // namespace

const plan::StageAlgorithm& pipeline() {
  static const Pipeline instance;
  return instance;
}

}  // namespace hccl::algorithms
