// Selector: which algorithms HCCL's documented rules take for an operation. Depends on agreed data
// only (operation, size, topology, configuration), so every rank chooses alike. What runs where
// nothing is configured is the Chooser's decision (chooser.h).
#pragma once

#include <cstdint>

#include "src/base/algo_config.h"
#include "src/plan/schedule.h"

namespace hccl::plan {

// `bytes`: of the whole vector, or of all blocks together; 0 where ranks do not know it alike
// (AlltoAllV). Choice::note says why a configured algorithm was not taken.
Choice select(const OpDesc& op, const Topology& topology, const AlgoConfig& config, bool strict,
              uint64_t bytes);

// The operation's name in HCCL_ALGO.
AlgoOp algoOpOf(HcclCMDType type);

}  // namespace hccl::plan
