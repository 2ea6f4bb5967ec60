#include "algorithms/parts.h"

#include <algorithm>

namespace hccl::algorithms {
namespace {

StageArgs argsOf(const Part& part) {
  return {part.op, static_cast<uint32_t>(part.group.ranks.size()), part.group.root};
}

}  // namespace

uint32_t Part::rounds() const {
  return algorithm->rounds(argsOf(*this));
}

void Part::moves(uint32_t round, uint32_t owner, std::vector<Move>& out) const {
  const auto at = std::find(group.ranks.begin(), group.ranks.end(), owner);
  if (at == group.ranks.end() || round >= rounds()) return;
  std::vector<Move> inside;
  algorithm->moves(argsOf(*this), round, static_cast<uint32_t>(at - group.ranks.begin()), inside);
  for (const Move& move : inside) plan::translate(buffers, group, move, out);
}

void joinMoves(std::vector<Move>& moves, size_t first) {
  for (size_t i = first; i < moves.size(); ++i) {
    for (size_t k = i + 1; k < moves.size();) {
      if (moves[k].owner != moves[i].owner || moves[k].targets != moves[i].targets ||
          moves[k].sources != moves[i].sources) {
        ++k;
        continue;
      }
      moves[i].refs.insert(moves[i].refs.end(), moves[k].refs.begin(), moves[k].refs.end());
      moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
}

}  // namespace hccl::algorithms
