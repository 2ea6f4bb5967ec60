// The copy that stores around the cache.
#include <cstdint>
#include <cstring>

#include "src/reduce/kernel_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/reduce/kernels_copy.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hccl::reduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void streamCopy(void* dst, const void* src, size_t bytes) {
#if HWY_TARGET == HWY_SCALAR
  std::memcpy(dst, src, bytes);
#else
  constexpr size_t kLine = 64;
  const hn::ScalableTag<uint8_t> d;
  const size_t n = hn::Lanes(d);
  auto* to = static_cast<uint8_t*>(dst);
  const auto* from = static_cast<const uint8_t*>(src);
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine;
  if (bytes < head + 4 * n) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, head);
  size_t i = head;
  for (; i + 4 * n <= bytes; i += 4 * n) {
    const auto v0 = hn::LoadU(d, from + i);
    const auto v1 = hn::LoadU(d, from + i + n);
    const auto v2 = hn::LoadU(d, from + i + 2 * n);
    const auto v3 = hn::LoadU(d, from + i + 3 * n);
    hn::Stream(v0, d, to + i);
    hn::Stream(v1, d, to + i + n);
    hn::Stream(v2, d, to + i + 2 * n);
    hn::Stream(v3, d, to + i + 3 * n);
  }
  std::memcpy(to + i, from + i, bytes - i);
#endif
}

void fillCopy(KernelTable& table) {
  table.streamCopy = &streamCopy;
}

}  // namespace HWY_NAMESPACE
}  // namespace hccl::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hccl::reduce {

HWY_EXPORT(fillCopy);

void fillCopyKernel(KernelTable& table) {
  HWY_DYNAMIC_DISPATCH(fillCopy)(table);
}

}  // namespace hccl::reduce
#endif
