// From a choice of algorithms to stages. Levels become tiers: a rank has one coordinate in each,
// and a stage of a tier joins the ranks that differ in that coordinate alone. Going up the tiers an
// operation shrinks to the part that all tiers below have prepared, at the top tier it is the
// operation itself, going down it grows again.
#include <algorithm>
#include <numeric>

#include "src/plan/schedule.h"

namespace hccl::plan {
namespace {

using Groups = std::vector<std::vector<uint32_t>>;

struct Tier {
  const AlgorithmRow* row = nullptr;
  bool oneShot = false;
  uint32_t radix = 1;
  std::vector<uint32_t> coordinate;  // by rank
  Groups subgroups;                  // coordinates by group of the level below (spanning rows)
};

std::array<Buffer, 3> roles(Buffer input, Buffer output, Buffer scratch) {
  return {input, output, scratch};
}

// Position of each group's elements when the groups are laid end to end, as groups of positions.
Groups consecutive(const Groups& groups) {
  Groups result;
  uint32_t next = 0;
  for (const auto& group : groups) {
    result.emplace_back(group.size());
    std::iota(result.back().begin(), result.back().end(), next);
    next += static_cast<uint32_t>(group.size());
  }
  return result;
}

Tier tierOf(const AlgorithmRow* row, bool oneShot, std::vector<uint32_t> coordinate) {
  Tier tier;
  tier.row = row;
  tier.oneShot = oneShot;
  tier.radix = *std::max_element(coordinate.begin(), coordinate.end()) + 1;
  tier.coordinate = std::move(coordinate);
  return tier;
}

bool spans(const AlgorithmRow* row) {
  return row != nullptr && row->algorithm->spansLevels();
}

// Coordinates of the ranks at each level that a choice may use.
class Coordinates {
 public:
  explicit Coordinates(const Topology& topology) : topology_(topology) {}

  template <typename Of>
  std::vector<uint32_t> of(Of value) const {
    std::vector<uint32_t> result(topology_.rankCount);
    for (uint32_t rank = 0; rank < topology_.rankCount; ++rank) result[rank] = value(rank);
    return result;
  }
  uint32_t serverInPod(uint32_t rank) const {
    const uint32_t server = topology_.serverOf[rank];
    const auto& pod = topology_.superPods[topology_.superPodOf[server]];
    return static_cast<uint32_t>(std::find(pod.begin(), pod.end(), server) - pod.begin());
  }
  uint32_t pod(uint32_t rank) const { return topology_.superPodOf[topology_.serverOf[rank]]; }

  std::vector<Tier> tiers(const Choice& c) const {
    const auto plane = of([&](uint32_t r) { return topology_.localIndex[r]; });
    const auto rankItself = of([](uint32_t r) { return r; });
    std::vector<Tier> tiers;
    if (c.level1 == nullptr && c.level2 == nullptr) {
      tiers.push_back(tierOf(c.level0, c.oneShot0, rankItself));
      return tiers;
    }
    if (c.level2 == nullptr && spans(c.level1)) {
      tiers.push_back(tierOf(c.level1, c.oneShot1, rankItself));
      tiers.back().subgroups = topology_.servers;
      return tiers;
    }
    if (c.level2 != nullptr && spans(c.level1) && !spans(c.level2)) return spanInPods(c);
    tiers.push_back(tierOf(c.level0, false, plane));
    const auto server = of([&](uint32_t r) { return topology_.serverOf[r]; });
    if (c.level2 == nullptr) {
      tiers.push_back(tierOf(c.level1, c.oneShot1, server));
    } else if (spans(c.level2)) {
      tiers.push_back(tierOf(c.level2, c.oneShot2, server));
      tiers.back().subgroups = topology_.superPods;
    } else {
      if (c.level1 != nullptr) {
        tiers.push_back(tierOf(c.level1, false, of([&](uint32_t r) { return serverInPod(r); })));
      }
      tiers.push_back(tierOf(c.level2, c.oneShot2, of([&](uint32_t r) { return pod(r); })));
    }
    return tiers;
  }

 private:
  // Level 1 runs with level 0 as one stage in each super-pod.
  std::vector<Tier> spanInPods(const Choice& c) const {
    const uint32_t planes = static_cast<uint32_t>(topology_.servers[0].size());
    std::vector<Tier> tiers;
    tiers.push_back(tierOf(c.level1, false, of([&](uint32_t r) {
                             return serverInPod(r) * planes + topology_.localIndex[r];
                           })));
    Groups servers;
    for (uint32_t server : topology_.superPods[0]) servers.push_back(topology_.servers[server]);
    tiers.back().subgroups = consecutive(servers);
    tiers.push_back(tierOf(c.level2, c.oneShot2, of([&](uint32_t r) { return pod(r); })));
    return tiers;
  }

  const Topology& topology_;
};

class Composer {
 public:
  Composer(const OpDesc& op, const Topology& topology, std::vector<Tier> tiers, Schedule& schedule)
      : op_(op), ranks_(topology.rankCount), tiers_(std::move(tiers)), schedule_(schedule) {}

  void run() {
    const size_t top = tiers_.size() - 1;
    switch (stageOpOf(op_.type)) {
      case StageOp::kReduceScatter:
        rankBlocks(StageOp::kReduceScatter, true);
        return;
      case StageOp::kScatter:
        rankBlocks(StageOp::kScatter, true);
        return;
      case StageOp::kAllGather:
        rankBlocks(StageOp::kAllGather, false);
        return;
      case StageOp::kAllToAll:  // flat: one tier
        rankBlocks(StageOp::kAllToAll, false);
        return;
      case StageOp::kBroadcast:
        vector(top, {StageOp::kScatter, StageOp::kBroadcast, StageOp::kAllGather}, Buffer::kOutput);
        return;
      case StageOp::kReduce:
        vector(top, {StageOp::kReduceScatter, StageOp::kReduce, StageOp::kGather},
               Buffer::kScratch);
        return;
      default:
        vector(top, {StageOp::kReduceScatter, StageOp::kAllReduce, StageOp::kAllGather},
               Buffer::kOutput);
    }
  }

 private:
  struct Phases {
    StageOp up;
    StageOp top;
    StageOp down;
  };

  // ---- operations whose blocks are the ranks' parts ----

  // Member m's block in tier t: the ranks that agree with it in this tier and all above.
  void rankBlocks(StageOp op, bool topFirst) {
    schedule_.blocks = ranks_;
    const size_t count = tiers_.size();
    for (size_t i = 0; i < count; ++i) {
      const size_t t = topFirst ? count - 1 - i : i;
      const bool first = i == 0;
      const bool last = i + 1 == count;
      const Buffer between = op == StageOp::kAllGather ? Buffer::kOutput : Buffer::kScratch;
      // A scatter concerns, in each tier, the groups whose lower coordinates are the root's.
      addStage(
          t, op, tiers_[t].oneShot,
          roles(first ? Buffer::kInput : between, last ? Buffer::kOutput : between,
                Buffer::kScratch),
          [&](uint32_t rank) { return op != StageOp::kScatter || sharesBelow(t, rank); },
          [&](Group& group, uint32_t rank) {
            group.blocks.resize(tiers_[t].radix);
            for (uint32_t r = 0; r < ranks_; ++r) {
              if (sharesAbove(t, rank, r)) group.blocks[coordinate(t, r)].push_back(r);
            }
          });
    }
  }

  // ---- operations on one vector ----

  // Blocks are numbered by the lower tiers' coordinates first, then by the top stage's block.
  void vector(size_t top, const Phases& phases, Buffer partial) {
    const Tier& highest = tiers_[top];
    topBlocks_ = highest.row->algorithm->blocks(argsFor(top, phases.top));
    schedule_.blocks = topBlocks_;
    for (size_t t = 0; t < top; ++t) schedule_.blocks *= tiers_[t].radix;
    const bool broadcast = phases.top == StageOp::kBroadcast;
    for (size_t t = 0; t < top; ++t) {
      const Buffer from = t == 0 ? Buffer::kInput : partial;
      addStage(
          t, phases.up, false, roles(from, partial, partial),
          [&](uint32_t rank) { return !broadcast || sharesAbove(t, rank, op_.root); },
          [&](Group& group, uint32_t rank) { vectorBlocks(t, rank, group); });
    }
    const bool alone = top == 0;
    addStage(
        top, phases.top, highest.oneShot,
        alone ? roles(Buffer::kInput, Buffer::kOutput, Buffer::kScratch)
              : roles(partial, partial, Buffer::kScratch),
        [](uint32_t) { return true; },
        [&](Group& group, uint32_t rank) { vectorBlocks(top, rank, group); });
    const bool reduce = phases.top == StageOp::kReduce;
    for (size_t t = top; t-- > 0;) {
      const Buffer to = t == 0 ? Buffer::kOutput : partial;
      addStage(
          t, phases.down, false, roles(partial, to, Buffer::kScratch),
          [&](uint32_t rank) { return !reduce || sharesAbove(t, rank, op_.root); },
          [&](Group& group, uint32_t rank) { vectorBlocks(t, rank, group); });
    }
  }

  // Blocks of tier t's stage for the group of `rank`: those that fit its lower coordinates, by the
  // coordinate of tier t.
  void vectorBlocks(size_t t, uint32_t rank, Group& group) const {
    const size_t top = tiers_.size() - 1;
    uint32_t begin = 0;
    uint32_t size = schedule_.blocks;
    for (size_t below = 0; below < t; ++below) {
      size /= tiers_[below].radix;
      begin += coordinate(below, rank) * size;
    }
    const uint32_t parts = t == top ? topBlocks_ : tiers_[t].radix;
    group.blocks.resize(parts);
    for (uint32_t part = 0; part < parts; ++part) {
      group.blocks[part].resize(size / parts);
      std::iota(group.blocks[part].begin(), group.blocks[part].end(),
                begin + part * (size / parts));
    }
  }

  // ---- groups ----

  uint32_t coordinate(size_t t, uint32_t rank) const { return tiers_[t].coordinate[rank]; }

  bool sharesBelow(size_t t, uint32_t rank) const {
    for (size_t i = 0; i < t; ++i) {
      if (coordinate(i, rank) != coordinate(i, op_.root)) return false;
    }
    return true;
  }
  bool sharesAbove(size_t t, uint32_t a, uint32_t b) const {
    for (size_t i = t + 1; i < tiers_.size(); ++i) {
      if (coordinate(i, a) != coordinate(i, b)) return false;
    }
    return true;
  }

  StageArgs argsFor(size_t t, StageOp op) const {
    const Tier& tier = tiers_[t];
    return {op, tier.radix, coordinate(t, op_.root), tier.oneShot,
            tier.subgroups.empty() ? nullptr : &tier.subgroups};
  }

  // One group for each set of ranks that differ in tier t alone and that `takesPart`.
  template <typename TakesPart, typename SetBlocks>
  void addStage(size_t t, StageOp op, bool oneShot, std::array<Buffer, 3> buffers,
                TakesPart takesPart, SetBlocks setBlocks) {
    const Tier& tier = tiers_[t];
    Stage stage;
    stage.row = tier.row;
    stage.op = op;
    stage.oneShot = oneShot;
    stage.buffers = buffers;
    stage.groupOf.assign(ranks_, -1);
    stage.memberOf.assign(ranks_, 0);
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      if (stage.groupOf[rank] >= 0 || !takesPart(rank)) continue;
      Group group;
      group.ranks.resize(tier.radix);
      group.root = coordinate(t, op_.root);
      group.subgroups = tier.subgroups;
      for (uint32_t r = 0; r < ranks_; ++r) {
        if (!differOnlyIn(t, rank, r)) continue;
        group.ranks[coordinate(t, r)] = r;
        stage.groupOf[r] = static_cast<int32_t>(stage.groups.size());
        stage.memberOf[r] = coordinate(t, r);
      }
      setBlocks(group, rank);
      stage.groups.push_back(std::move(group));
    }
    schedule_.stages.push_back(std::move(stage));
  }

  bool differOnlyIn(size_t t, uint32_t a, uint32_t b) const {
    for (size_t i = 0; i < tiers_.size(); ++i) {
      if (i != t && coordinate(i, a) != coordinate(i, b)) return false;
    }
    return true;
  }

  const OpDesc& op_;
  const uint32_t ranks_;
  std::vector<Tier> tiers_;
  Schedule& schedule_;
  uint32_t topBlocks_ = 1;
};

uint8_t fold(uint32_t key) {
  key *= 0x9e3779b1U;
  return static_cast<uint8_t>(key >> 24);
}

std::string nameOf(const AlgorithmRow* row) {
  return row == nullptr ? "null" : row->logName;
}

}  // namespace

Schedule compose(const OpDesc& op, const Topology& topology, const Choice& choice) {
  Schedule schedule;
  schedule.rankCount = topology.rankCount;
  schedule.name = nameOf(choice.level0) + "-" + nameOf(choice.level1) + "-" + nameOf(choice.level2);
  schedule.id = fold(choice.key());
  for (const AlgorithmRow* row : {choice.level0, choice.level1, choice.level2}) {
    if (row == nullptr) continue;
    schedule.relays = schedule.relays || row->algorithm->relays();
    schedule.paced = schedule.paced || row->algorithm->paced();
  }
  std::vector<Tier> tiers = Coordinates(topology).tiers(choice);
  // Where servers have one rank, or super-pods one server, that level does not exist.
  if (tiers.size() > 1) std::erase_if(tiers, [](const Tier& tier) { return tier.radix == 1; });
  Composer(op, topology, std::move(tiers), schedule).run();
  return schedule;
}

}  // namespace hccl::plan
