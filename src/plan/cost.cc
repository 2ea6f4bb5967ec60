// The cost of a stage, counted from its moves.
#include <algorithm>

#include "src/plan/algorithm.h"

namespace hccl::plan {
namespace {

// Blocks that a member receives, sends and reduces in one round.
struct Load {
  uint64_t in = 0;
  uint64_t out = 0;
  uint64_t reduced = 0;
};

void count(const Move& move, std::vector<Load>& loads) {
  const uint64_t blocks = move.segments();
  for (uint32_t source : move.sources) {
    if (source == move.owner) continue;
    loads[source].out += blocks;
    loads[move.owner].in += blocks;
  }
  for (uint32_t target : move.targets) {
    if (target == move.owner) continue;
    loads[move.owner].out += blocks;
    loads[target].in += blocks;
  }
  loads[move.owner].reduced += (move.sources.size() - 1) * blocks;
}

}  // namespace

Cost costOfMoves(const StageAlgorithm& algorithm, const StageArgs& args) {
  uint64_t steps = 0;
  uint64_t volume = 0;
  uint64_t reduced = 0;
  std::vector<Move> moves;
  for (uint32_t round = 0; round < algorithm.rounds(args); ++round) {
    std::vector<Load> loads(args.size);
    for (uint32_t member = 0; member < args.size; ++member) {
      moves.clear();
      algorithm.moves(args, round, member, moves);
      for (const Move& move : moves) count(move, loads);
    }
    uint64_t most = 0;
    uint64_t mostReduced = 0;
    for (const Load& load : loads) {
      most = std::max({most, load.in, load.out});
      mostReduced = std::max(mostReduced, load.reduced);
    }
    steps += most > 0 ? 1 : 0;
    volume += most;
    reduced += mostReduced;
  }
  const double blocks = algorithm.blocks(args);
  return {static_cast<double>(steps), static_cast<double>(volume) / blocks,
          static_cast<double>(reduced) / blocks};
}

Cost StageAlgorithm::cost(const StageArgs& args) const {
  return costOfMoves(*this, args);
}

}  // namespace hccl::plan
