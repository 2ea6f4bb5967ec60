// Races: proves that no two accesses to the same memory are unordered in any interleaving. Works
// rank by rank on that rank's memory: its own steps are ordered by vector clocks over its lanes;
// what a direct peer does lies between this rank's Open and the AwaitClose that answers it.
#pragma once

#include <optional>

#include "src/verify/finding.h"
#include "src/verify/step_reader.h"

namespace hccl::verify {

std::optional<Finding> findRace(const World& world, const MemoryMap& map);

}  // namespace hccl::verify
