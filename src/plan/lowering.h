// Lowering: a schedule's moves, seen from one rank, onto the link classes of its peers. Pure.
#pragma once

#include <functional>

#include "src/plan/plan.h"
#include "src/plan/schedule.h"

namespace hccl::plan {

enum class PeerLink : uint8_t { kDirect, kMessage };

// All ranks with which `rank` exchanges anything in this schedule, ascending. The links to them
// have to exist before lowering.
std::vector<uint32_t> peersOf(const Schedule& schedule, uint32_t rank);

// `linkOf(peer)` is asked for peersOf() only; both ends of a pair must hold the same answer.
Plan lower(const OpDesc& op, const Schedule& schedule, uint32_t rank,
           const std::function<PeerLink(uint32_t)>& linkOf);

}  // namespace hccl::plan
