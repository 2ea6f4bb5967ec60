// Exchanges at strides 1, 2, 4, ...: the halves that NHR (towards lower ranks) and NB (towards
// higher ranks) share. `Walk::direction` is the sign: data of a member travels to member -
// direction * stride.
#pragma once

#include <vector>

#include "algorithms/moves_builder.h"

namespace hccl::algorithms {

struct Walk {
  int direction = 1;                // +1: NHR, receive from r + d; -1: NB, receive from r - d
  std::vector<uint32_t> positions;  // of each virtual block; empty: its number
  uint32_t position(uint32_t v) const { return positions.empty() ? v : positions[v]; }
};

// Blocks exchanged in a step of stride d.
inline uint32_t blocksInStep(uint32_t size, uint64_t d) {
  return static_cast<uint32_t>((size - 1 + d) / (2 * d));
}

// Step s, d = 2^s: r receives its blocks r, r -+ 2d, r -+ 4d, ... from the member d away and
// reduces them.
void stridedReduceScatter(const StageArgs& a, const Walk& walk, uint32_t s, uint32_t r,
                          Buffer partialIn, Buffer result, std::vector<Move>& out);

// Step s: members closer to the root than d = 2^s hand on what lies beyond.
void stridedScatter(const StageArgs& a, const Walk& walk, uint32_t s, uint32_t r, Buffer transit,
                    std::vector<Move>& out);

// Binomial trees on the whole vector: towards the root, and (widest stride first) away from it.
void reduceTree(const StageArgs& a, uint32_t s, uint32_t r, Buffer partialIn, Buffer result,
                std::vector<Move>& out);
void broadcastTree(const StageArgs& a, uint32_t s, uint32_t r, Buffer atRoot,
                   std::vector<Move>& out);

}  // namespace hccl::algorithms
