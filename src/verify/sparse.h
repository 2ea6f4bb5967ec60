// Plans of very many ranks. A rank's plan depends on its own moves and on those that touch it, so
// it is lowered in a small schedule of just these ranks, by the very same pass. Where the checker
// has confirmed that all ranks do the same up to a renaming, one plan stands for all.
#pragma once

#include <cstdint>
#include <optional>

#include "src/verify/world.h"

namespace hccl::verify {

// How rank r's doings come out of rank 0's: peer p of rank 0 is (p + r) mod n, or p xor r.
enum class Symmetry : uint8_t { kNone, kRotation, kXor };
const char* symmetryName(Symmetry symmetry);

inline uint32_t renamed(Symmetry symmetry, uint32_t peer, uint32_t r, uint32_t n) {
  return symmetry == Symmetry::kXor ? peer ^ r : static_cast<uint32_t>((uint64_t{peer} + r) % n);
}

// Compares the moves of ranks with rank 0's, round by round: who takes part, how many blocks.
// `every`: of all ranks; else of 32 spread ones where there are more than 1024.
Symmetry confirmSymmetry(const plan::StageAlgorithm& algorithm, const plan::StageArgs& args,
                         bool every);

// The plan of rank 0 with peers by their true ranks, messages on all links.
plan::Plan templatePlan(const plan::OpDesc& op, const plan::AlgorithmRow& row, bool oneShot,
                        uint32_t ranks, Symmetry symmetry);

// All plans of a flat schedule, without looking at pairs of ranks that never meet.
World buildSparseWorld(const WorldSpec& spec);

}  // namespace hccl::verify
