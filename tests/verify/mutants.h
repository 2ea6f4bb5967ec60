// Mutants: plans made wrong in one place, and why one may be as good as the original.
#pragma once

#include <string>
#include <vector>

#include "src/verify/world.h"

namespace hccl::test {

enum class Change : uint8_t {
  kDropStep,
  kDuplicateStep,
  kSwapSteps,  // with the next one of its lane
  kDropDependency,
  kShiftBlock,   // an operand's block
  kSwapBuffer,   // an operand's buffer
  kShiftRank,    // an operand's rank
  kShiftLength,  // the block whose length counts
  kLengthenRun,
  kShiftPeer,
};
inline constexpr size_t kChanges = 10;
const char* changeName(Change change);

struct Mutation {
  Change change = Change::kDropStep;
  uint32_t rank = 0;
  uint32_t step = 0;
  uint32_t detail = 0;  // dependency, or operand
  uint32_t segment = 0;
  std::string text(const verify::World& world) const;
};

// Every mutation of one rank's plan.
std::vector<Mutation> mutationsOf(const verify::World& world, uint32_t rank);

verify::World mutate(const verify::World& world, const Mutation& mutation);

// Why the mutant does what the original does, found without the checker; empty when there is no
// known reason.
std::string equivalence(const verify::World& world, const verify::World& mutant,
                        const Mutation& mutation);

}  // namespace hccl::test
