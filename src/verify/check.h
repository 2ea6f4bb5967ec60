// The checker: proves the lowered plans of all ranks right, or says what is wrong with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/verify/finding.h"
#include "src/verify/memory_map.h"
#include "src/verify/world.h"

namespace hccl::verify {

// What is proven for this placement of the buffers:
//  - every output element is the combination of exactly the right inputs, each once (in the order
//    of ranks when the world is strict; equal bits on all ranks of an AllReduce);
//  - every wait ends, with the least buffering that a link may have, and no signal is left over;
//  - no two accesses race in any interleaving, and peers are touched only while they permit it;
//  - nothing is read that was not written, nothing outside of a buffer is touched, staging stays
//    within HCCL_BUFFSIZE, and the input is left alone unless the operation is in place.
std::optional<Finding> check(const World& world, Placement placement);
// The same for operations back to back, without any synchronisation between them. All worlds have
// the same ranks and links.
std::optional<Finding> checkSequence(const std::vector<const World*>& worlds, Placement placement);

// All placements that the operation allows, and windows that make a difference to these plans.
std::vector<Placement> placementsOf(const World& world);

// Empty when the world is right in all its placements; else the placement and the finding.
std::string checkAll(const World& world);

}  // namespace hccl::verify
