// The flow that all benchmarks share: launch, communicator, sizes, time, check, report.
#pragma once

#include "bench/parts/operation.h"

namespace hccl::bench {

// The whole of main. Returns 0, 1 when a check of this rank failed, 2 for a wrong command line;
// ends all ranks when a call fails.
int run(int argc, char** argv, Operation& operation);

}  // namespace hccl::bench
