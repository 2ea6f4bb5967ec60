// Selector: which algorithms an operation runs with. Depends on agreed data only (operation, size,
// topology, configuration), so every rank chooses alike.
#pragma once

#include <cstdint>

#include "src/base/algo_config.h"
#include "src/plan/schedule.h"

namespace hccl::plan {

// `bytes`: of the whole vector, or of all blocks together; 0 where ranks do not know it alike
// (AlltoAllV). Choice::note says why a configured algorithm was not taken.
Choice select(const OpDesc& op, const Topology& topology, const AlgoConfig& config, bool strict,
              uint64_t bytes);

}  // namespace hccl::plan
