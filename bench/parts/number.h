// Values of reductions: what each rank contributes, and how contributions combine. Numbers are bits
// of the element's type in the low end of a uint64_t.
#pragma once

#include <cstdint>

#include "bench/parts/types.h"

namespace hccl::bench {

// A well mixed function of both numbers.
uint64_t mix(uint64_t a, uint64_t b);

// What `rank` of `ranks` contributes to element `index` of a reduction. Integers take any value
// (sums and products wrap; factors are odd). Floating types take values so small that sums and
// products of any subset are exact.
uint64_t contribution(const TypeInfo& type, HcclReduceOp op, uint32_t rank, uint32_t ranks,
                      uint64_t index);

// The contributions of all ranks combined.
uint64_t combined(const TypeInfo& type, HcclReduceOp op, uint32_t ranks, uint64_t index);

}  // namespace hccl::bench
