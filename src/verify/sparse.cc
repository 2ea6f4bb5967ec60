#include "src/verify/sparse.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace hccl::verify {
namespace {

using plan::Move;
using plan::StageArgs;

constexpr uint32_t kAllUpTo = 1024;
constexpr uint32_t kSamples = 32;

// An algorithm of n members, seen by a few of them.
class Neighbourhood final : public plan::StageAlgorithm {
 public:
  Neighbourhood(const plan::StageAlgorithm& all, const StageArgs& args,
                std::vector<uint32_t> members)
      : all_(all), args_(args), members_(std::move(members)) {
    for (uint32_t i = 0; i < members_.size(); ++i) index_[members_[i]] = i;
  }

  bool supports(plan::StageOp op) const override { return all_.supports(op); }
  uint32_t rounds(const StageArgs&) const override { return all_.rounds(args_); }
  uint32_t blocks(const StageArgs&) const override { return all_.blocks(args_); }
  void moves(const StageArgs&, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    std::vector<Move> moves;
    all_.moves(args_, round, members_[owner], moves);
    for (Move& move : moves) {
      if (rename(move)) out.push_back(std::move(move));
    }
  }

 private:
  // False when the move touches somebody from outside.
  bool rename(Move& move) const {
    const auto of = [this](uint32_t& rank) {
      const auto found = index_.find(rank);
      if (found == index_.end()) return false;
      rank = found->second;
      return true;
    };
    bool known = of(move.owner);
    for (uint32_t& rank : move.targets) known = known && of(rank);
    for (uint32_t& rank : move.sources) known = known && of(rank);
    return known;
  }

  const plan::StageAlgorithm& all_;
  const StageArgs args_;
  const std::vector<uint32_t> members_;
  std::unordered_map<uint32_t, uint32_t> index_;
};

StageArgs argsOf(const plan::OpDesc& op, uint32_t ranks, bool oneShot) {
  StageArgs args;
  args.op = plan::stageOpOf(op.type);
  args.size = ranks;
  args.root = op.root;
  args.oneShot = oneShot;
  return args;
}

// The plan of `rank` among `peers` (everybody it ever works with).
plan::Plan lowerAmong(const plan::OpDesc& op, const plan::AlgorithmRow& row, const StageArgs& args,
                      uint32_t rank, const std::set<uint32_t>& peers) {
  std::vector<uint32_t> members(peers.begin(), peers.end());
  members.push_back(rank);
  std::sort(members.begin(), members.end());
  const auto self = static_cast<uint32_t>(std::lower_bound(members.begin(), members.end(), rank) -
                                          members.begin());
  const Neighbourhood neighbourhood(*row.algorithm, args, members);
  plan::AlgorithmRow local = row;
  local.algorithm = &neighbourhood;
  plan::Schedule schedule;
  schedule.name = row.logName;
  schedule.rankCount = static_cast<uint32_t>(members.size());
  schedule.blocks = row.algorithm->blocks(args);
  plan::Stage stage;
  stage.row = &local;
  stage.op = args.op;
  stage.oneShot = args.oneShot;
  plan::Group group;
  for (uint32_t i = 0; i < members.size(); ++i) group.ranks.push_back(i);
  for (uint32_t b = 0; b < schedule.blocks; ++b) group.blocks.push_back({b});
  stage.groupOf.assign(members.size(), 0);
  stage.memberOf = group.ranks;
  stage.groups.push_back(std::move(group));
  schedule.stages.push_back(std::move(stage));
  plan::OpDesc small = op;
  const auto root = std::lower_bound(members.begin(), members.end(), op.root);
  small.root = root != members.end() && *root == op.root
                   ? static_cast<uint32_t>(root - members.begin())
                   : UINT32_MAX;
  plan::Plan plan =
      plan::lower(small, schedule, self, [](uint32_t) { return plan::PeerLink::kMessage; });
  plan.rank = rank;
  for (plan::Step& step : plan.steps) {
    if (step.kind == plan::StepKind::kPut || step.kind == plan::StepKind::kTake) {
      step.peer = members[step.peer];
    }
  }
  for (uint32_t& r : plan.operandRanks) r = members[r];
  for (uint32_t& r : plan.messagePeers) r = members[r];
  return plan;
}

bool sameUpToRenaming(Symmetry symmetry, const std::vector<Move>& a, const std::vector<Move>& b,
                      uint32_t r, uint32_t n) {
  const auto same = [&](const std::vector<uint32_t>& x, const std::vector<uint32_t>& y) {
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [&](auto p, auto q) {
             return renamed(symmetry, p, r, n) == q;
           });
  };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](const Move& x, const Move& y) {
           return x.segments() == y.segments() && same(x.targets, y.targets) &&
                  same(x.sources, y.sources);
         });
}

bool confirmed(Symmetry symmetry, const plan::StageAlgorithm& algorithm, const StageArgs& args,
               uint32_t stride) {
  std::vector<Move> first;
  std::vector<Move> moves;
  for (uint32_t round = 0; round < algorithm.rounds(args); ++round) {
    first.clear();
    algorithm.moves(args, round, 0, first);
    for (uint32_t r = 1; r < args.size; r += stride) {
      moves.clear();
      algorithm.moves(args, round, r, moves);
      if (!sameUpToRenaming(symmetry, first, moves, r, args.size)) return false;
    }
  }
  return true;
}

void addRanks(const Move& move, uint32_t self, std::set<uint32_t>& peers) {
  peers.insert(move.targets.begin(), move.targets.end());
  peers.insert(move.sources.begin(), move.sources.end());
  peers.erase(self);
}

}  // namespace

const char* symmetryName(Symmetry symmetry) {
  static const char* const names[] = {"none", "rotation", "xor"};
  return names[static_cast<size_t>(symmetry)];
}

Symmetry confirmSymmetry(const plan::StageAlgorithm& algorithm, const StageArgs& args, bool every) {
  const uint32_t n = args.size;
  // An odd stride visits ranks of all residues, the neighbours of 0 and the far half.
  const uint32_t stride = every || n <= kAllUpTo ? 1 : (n / kSamples) | 1;
  if (confirmed(Symmetry::kRotation, algorithm, args, stride)) return Symmetry::kRotation;
  if ((n & (n - 1)) == 0 && confirmed(Symmetry::kXor, algorithm, args, stride)) {
    return Symmetry::kXor;
  }
  return Symmetry::kNone;
}

plan::Plan templatePlan(const plan::OpDesc& op, const plan::AlgorithmRow& row, bool oneShot,
                        uint32_t ranks, Symmetry symmetry) {
  const StageArgs args = argsOf(op, ranks, oneShot);
  std::set<uint32_t> peers;
  std::vector<Move> moves;
  for (uint32_t round = 0; round < row.algorithm->rounds(args); ++round) {
    moves.clear();
    row.algorithm->moves(args, round, 0, moves);
    for (const Move& move : moves) addRanks(move, 0, peers);
  }
  // Who touches rank 0 does what rank 0 does to the mirror image.
  const std::set<uint32_t> own = peers;
  for (uint32_t peer : own)
    peers.insert(symmetry == Symmetry::kXor ? peer : (ranks - peer) % ranks);
  return lowerAmong(op, row, args, 0, peers);
}

World buildSparseWorld(const WorldSpec& spec) {
  const uint32_t n = spec.topology.rankCount;
  const plan::AlgorithmRow& row = *spec.choice.level0;
  const StageArgs args = argsOf(spec.op, n, spec.choice.oneShot0);
  std::vector<std::set<uint32_t>> peers(n);
  std::vector<Move> moves;
  for (uint32_t round = 0; round < row.algorithm->rounds(args); ++round) {
    for (uint32_t r = 0; r < n; ++r) {
      moves.clear();
      row.algorithm->moves(args, round, r, moves);
      for (const Move& move : moves) {
        std::set<uint32_t> touched;
        addRanks(move, r, touched);
        for (uint32_t peer : touched) {
          peers[r].insert(peer);
          peers[peer].insert(r);
        }
      }
    }
  }
  World world;
  world.op = spec.op;
  world.name = row.logName;
  world.ranks = n;
  world.bufferBytes = spec.bufferBytes;
  for (uint32_t r = 0; r < n; ++r)
    world.plans.push_back(lowerAmong(spec.op, row, args, r, peers[r]));
  setGeometry(spec, world);
  return world;
}

}  // namespace hccl::verify
