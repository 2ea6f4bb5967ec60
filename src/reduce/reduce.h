// Reduction kernels: n inputs into one or more outputs in one pass over memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hccl/hccl_types.h"

namespace hccl::reduce {

// True when `op` on `type` is in the type x op matrix of the newest product (api.md section 3):
// SUM, PROD, MAX, MIN on int8 int16 int32 int64 uint64 fp16 fp32 fp64 bfp16, without PROD on int16
// and bfp16.
bool supported(HcclDataType type, HcclReduceOp op);

// Bytes of one element; 0 for a type that does not exist.
size_t typeSize(HcclDataType type);

// dst[k][i] = src[0][i] op src[1][i] op ... op src[sources-1][i], for i < count and all k <
// targets. Sources are combined in the order given. fp16 and bf16 are accumulated in float over all
// the sources of the call and rounded once, to nearest even, with denormals kept; integers wrap;
// MIN and MAX propagate NaN and are commutative (max(-0, +0) = +0, min(-0, +0) = -0). One source is
// a copy. A target may be equal to any source (in place); partial overlap is not allowed. Pointers
// need no alignment. The bits depend on the arguments only, never on the SIMD target, on alignment
// or on the caller's floating-point environment (rounding and flush modes are set for the call
// where they are not the default ones). A NaN result is the positive quiet NaN, whatever the
// inputs' payloads were; a copy keeps them. `streamingStores`: write the targets around the cache
// (large outputs that are not read again soon); the call ends with a store fence then. Requires
// supported(type, op) unless sources == 1 (ends the process otherwise), and at most 64 of each.
void combine(void* const* dst, int targets, const void* const* src, int sources, size_t count,
             HcclDataType type, HcclReduceOp op, bool streamingStores = false);

// Plain copy of `bytes` bytes; streamingStores as above. Source and target do not overlap, or are
// equal.
void copy(void* dst, const void* src, size_t bytes, bool streamingStores = false);

}  // namespace hccl::reduce
