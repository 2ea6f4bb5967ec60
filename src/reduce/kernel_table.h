// The table of kernels that the running CPU is served from. Private to src/reduce and its tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/reduce/reduce.h"

namespace hccl::reduce {

inline constexpr unsigned kTypes = HCCL_DATA_TYPE_FP8E8M0 + 1;
inline constexpr unsigned kOps = HCCL_REDUCE_MIN + 1;

// combine() with sources >= 2, without the floating-point guard. Does the store fence itself.
using CombineKernel = void (*)(void* const* dst, int targets, const void* const* src, int sources,
                               size_t count, bool streamingStores);
// Copies `bytes` bytes with streaming stores where aligned. No store fence.
using StreamCopyKernel = void (*)(void* dst, const void* src, size_t bytes);

struct KernelTable {
  CombineKernel combine[kTypes][kOps] = {};
  StreamCopyKernel streamCopy = nullptr;
};

// Each family of kernels enters its functions for the best SIMD target of this CPU.
void fillIntegerKernels(KernelTable& table);
void fillFloatKernels(KernelTable& table);
void fillHalfKernels(KernelTable& table);
void fillCopyKernel(KernelTable& table);

// Chooses again, after hwy::SetSupportedTargetsForTest. No kernel may be running.
void chooseKernelsAgainForTest();

// One call of the inner loop: `sources` inputs, or an accumulator block and `sources` more inputs,
// into `targets` outputs or into an accumulator block.
struct Job {
  void* const* dst = nullptr;
  int targets = 0;
  size_t dstBase = 0;  // element index that dst[k] points to
  const void* const* src = nullptr;
  int sources = 0;
  const uint8_t* accIn = nullptr;
  uint8_t* accOut = nullptr;
  size_t accBase = 0;       // element index that accIn and accOut point to
  uint64_t streamMask = 0;  // bit k: store target k around the cache (it is aligned)
};

}  // namespace hccl::reduce
