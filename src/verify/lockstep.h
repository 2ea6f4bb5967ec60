// Lockstep: the time of very many ranks that all run one plan up to a renaming of peers. Evaluates
// the plan step by step for all ranks at once: a few additions a step and rank.
#pragma once

#include "src/verify/sim.h"
#include "src/verify/sparse.h"

namespace hccl::verify {

// `plan`: rank 0's, messages only; all in one iteration of `geometry`. Every rank keeps its own
// time, so links that ranks share are respected: first come, first served among the transfers of a
// step, steps in the order of the plan.
SimResult simulateLockstep(const plan::Plan& plan, const plan::Geometry& geometry, uint32_t ranks,
                           Symmetry symmetry, Network network);

}  // namespace hccl::verify
