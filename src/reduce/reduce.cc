#include "src/reduce/reduce.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "hwy/cache_control.h"
#include "src/reduce/float_environment.h"
#include "src/reduce/kernel_table.h"

namespace hccl::reduce {
namespace {

void fill(KernelTable& table) {
  fillIntegerKernels(table);
  fillFloatKernels(table);
  fillHalfKernels(table);
  fillCopyKernel(table);
}

KernelTable& madeTable() {
  static KernelTable table = [] {
    KernelTable made;
    fill(made);
    return made;
  }();
  return table;
}

// Kept apart from the static so that a call costs one load and not a guard.
constinit std::atomic<const KernelTable*> chosen{nullptr};

const KernelTable& kernels() {
  const KernelTable* table = chosen.load(std::memory_order_acquire);
  if (table == nullptr) [[unlikely]] {
    table = &madeTable();
    chosen.store(table, std::memory_order_release);
  }
  return *table;
}

// Null where supported() is false.
CombineKernel findKernel(HcclDataType type, HcclReduceOp op) {
  const auto row = static_cast<unsigned>(type), column = static_cast<unsigned>(op);
  if (row >= kTypes || column >= kOps) return nullptr;
  return kernels().combine[row][column];
}

bool isFloatingPoint(HcclDataType type) {
  return type == HCCL_DATA_TYPE_FP16 || type == HCCL_DATA_TYPE_FP32 ||
         type == HCCL_DATA_TYPE_FP64 || type == HCCL_DATA_TYPE_BFP16;
}

// One source, several targets: blocks small enough to be still cached for the next target.
void copyToAll(void* const* dst, int targets, const void* src, size_t bytes, bool streamingStores) {
  if (targets == 1) {
    copy(dst[0], src, bytes, streamingStores);
    return;
  }
  constexpr size_t kBlock = 16384;
  for (size_t at = 0; at < bytes; at += kBlock) {
    const size_t length = std::min(kBlock, bytes - at);
    const auto* from = static_cast<const uint8_t*>(src) + at;
    for (int t = 0; t < targets; ++t) {
      if (dst[t] == src) continue;
      auto* to = static_cast<uint8_t*>(dst[t]) + at;
      if (streamingStores) {
        kernels().streamCopy(to, from, length);
      } else {
        std::memcpy(to, from, length);
      }
    }
  }
  if (streamingStores) hwy::FlushStream();
}

}  // namespace

void chooseKernelsAgainForTest() {
  fill(madeTable());
}

bool supported(HcclDataType type, HcclReduceOp op) {
  if (op < HCCL_REDUCE_SUM || op > HCCL_REDUCE_MIN) return false;
  switch (type) {
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_BFP16:
      return op != HCCL_REDUCE_PROD;
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_FP32:
    case HCCL_DATA_TYPE_FP64:
      return true;
    default:
      return false;
  }
}

size_t typeSize(HcclDataType type) {
  switch (type) {
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_UINT8:
    case HCCL_DATA_TYPE_HIF8:
    case HCCL_DATA_TYPE_FP8E4M3:
    case HCCL_DATA_TYPE_FP8E5M2:
    case HCCL_DATA_TYPE_FP8E8M0:
      return 1;
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_UINT16:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_BFP16:
      return 2;
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_UINT32:
    case HCCL_DATA_TYPE_FP32:
      return 4;
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP64:
      return 8;
    case HCCL_DATA_TYPE_INT128:
      return 16;
    default:
      return 0;
  }
}

void combine(void* const* dst, int targets, const void* const* src, int sources, size_t count,
             HcclDataType type, HcclReduceOp op, bool streamingStores) {
  if (count == 0 || targets <= 0) return;
  if (sources == 1) {
    copyToAll(dst, targets, src[0], count * typeSize(type), streamingStores);
    return;
  }
  const CombineKernel kernel = findKernel(type, op);
  // A call outside the contract must not pass for a result.
  if (kernel == nullptr || sources < 1) [[unlikely]]
    std::abort();
  // MIN and MAX compare integers and need no particular environment.
  if (isFloatingPoint(type) && op <= HCCL_REDUCE_PROD) {
    const DefaultFloatEnvironment environment;
    kernel(dst, targets, src, sources, count, streamingStores);
  } else {
    kernel(dst, targets, src, sources, count, streamingStores);
  }
}

void copy(void* dst, const void* src, size_t bytes, bool streamingStores) {
  if (bytes == 0 || dst == src) return;
  if (!streamingStores) {
    std::memcpy(dst, src, bytes);
    return;
  }
  kernels().streamCopy(dst, src, bytes);
  hwy::FlushStream();
}

}  // namespace hccl::reduce
