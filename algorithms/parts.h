// Parts: algorithms that are put together from simpler ones on some of the members.
#pragma once

#include <array>
#include <vector>

#include "algorithms/moves_builder.h"
#include "src/plan/schedule.h"

namespace hccl::algorithms {

// A stage among group.ranks (members of the whole), whose blocks are blocks of the whole.
struct Part {
  const plan::StageAlgorithm* algorithm = nullptr;
  StageOp op = StageOp::kAllReduce;
  plan::Group group;
  std::array<Buffer, 3> buffers = {Buffer::kInput, Buffer::kOutput, Buffer::kScratch};

  uint32_t rounds() const;
  // What member `owner` of the whole does in `round` of the part: nothing when it is not in the
  // part or the part has ended.
  void moves(uint32_t round, uint32_t owner, std::vector<Move>& out) const;
};

// Joins the moves from `first` on that have the same owner, targets and sources.
void joinMoves(std::vector<Move>& moves, size_t first);

}  // namespace hccl::algorithms
