// Kernels of the integer types: sums and products wrap.
#include <cstdint>

#include "src/reduce/kernel_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/reduce/kernels_integer.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h first.
#include "hwy/highway.h"
#include "src/reduce/kernel_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hccl::reduce {
namespace HWY_NAMESPACE {

template <typename T>
struct IntegerSum : Plain<T> {
  using V = typename Plain<T>::V;
  static HWY_INLINE V op(V a, V b) { return hn::Add(a, b); }
};

template <typename T>
struct IntegerProduct : Plain<T> {
  using V = typename Plain<T>::V;
  static HWY_INLINE V op(V a, V b) { return hn::Mul(a, b); }
};

// No target multiplies bytes: the low byte of a 16-bit product depends on the low bytes only.
template <>
struct IntegerProduct<uint8_t> : Plain<uint8_t> {
  using V = Plain<uint8_t>::V;
#if HWY_TARGET == HWY_SCALAR
  static HWY_INLINE V op(V a, V b) {
    return hn::Set(D(), static_cast<uint8_t>(hn::GetLane(a) * hn::GetLane(b)));
  }
#else
  static HWY_INLINE V op(V a, V b) {
    const hn::Repartition<uint16_t, D> d16;
    const auto a16 = hn::BitCast(d16, a);
    const auto b16 = hn::BitCast(d16, b);
    const auto even = hn::Mul(a16, b16);
    const auto odd = hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16));
    const auto low = hn::And(even, hn::Set(d16, uint16_t{0x00FF}));
    return hn::BitCast(D(), hn::Or(low, hn::ShiftLeft<8>(odd)));
  }
#endif
};

template <typename T>
struct IntegerMaximum : Plain<T> {
  using V = typename Plain<T>::V;
  static HWY_INLINE V op(V a, V b) { return hn::Max(a, b); }
};

template <typename T>
struct IntegerMinimum : Plain<T> {
  using V = typename Plain<T>::V;
  static HWY_INLINE V op(V a, V b) { return hn::Min(a, b); }
};

// `U` is T without its sign: wrapping arithmetic has the same bits.
template <typename T, typename U>
void fillInteger(KernelTable& table, HcclDataType type) {
  CombineKernel* row = table.combine[type];
  row[HCCL_REDUCE_SUM] = &combineKernel<IntegerSum<U>>;
  if constexpr (sizeof(T) != sizeof(int16_t)) {  // no product of int16: supported()
    row[HCCL_REDUCE_PROD] = &combineKernel<IntegerProduct<U>>;
  }
  row[HCCL_REDUCE_MAX] = &combineKernel<IntegerMaximum<T>>;
  row[HCCL_REDUCE_MIN] = &combineKernel<IntegerMinimum<T>>;
}

void fillIntegers(KernelTable& table) {
  fillInteger<int8_t, uint8_t>(table, HCCL_DATA_TYPE_INT8);
  fillInteger<int16_t, uint16_t>(table, HCCL_DATA_TYPE_INT16);
  fillInteger<int32_t, uint32_t>(table, HCCL_DATA_TYPE_INT32);
  fillInteger<int64_t, uint64_t>(table, HCCL_DATA_TYPE_INT64);
  fillInteger<uint64_t, uint64_t>(table, HCCL_DATA_TYPE_UINT64);
}

}  // namespace HWY_NAMESPACE
}  // namespace hccl::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hccl::reduce {

HWY_EXPORT(fillIntegers);

void fillIntegerKernels(KernelTable& table) {
  HWY_DYNAMIC_DISPATCH(fillIntegers)(table);
}

}  // namespace hccl::reduce
#endif
