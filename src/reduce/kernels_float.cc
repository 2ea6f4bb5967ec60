// Kernels of fp32 and fp64.
#include <cstdint>

#include "src/reduce/kernel_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/reduce/kernels_float.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h first.
#include "hwy/highway.h"
#include "src/reduce/ordered_key-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hccl::reduce {
namespace HWY_NAMESPACE {

// Which payload survives NaN + NaN depends on the order in which a compiler names the operands of a
// commutative instruction, so every NaN leaves as the same positive quiet one.
template <typename T>
struct FloatArithmetic : Plain<T> {
  using D = typename Plain<T>::D;
  using V = typename Plain<T>::V;
  static HWY_INLINE V out(V v) {
    return hn::IfThenElse(hn::IsNaN(v), hn::Set(D(), std::numeric_limits<T>::quiet_NaN()), v);
  }
};

template <typename T>
struct FloatSum : FloatArithmetic<T> {
  using V = typename Plain<T>::V;
  static HWY_INLINE V op(V a, V b) { return hn::Add(a, b); }
};

template <typename T>
struct FloatProduct : FloatArithmetic<T> {
  using V = typename Plain<T>::V;
  static HWY_INLINE V op(V a, V b) { return hn::Mul(a, b); }
};

void fillFloats(KernelTable& table) {
  table.combine[HCCL_DATA_TYPE_FP32][HCCL_REDUCE_SUM] = &combineKernel<FloatSum<float>>;
  table.combine[HCCL_DATA_TYPE_FP32][HCCL_REDUCE_PROD] = &combineKernel<FloatProduct<float>>;
  table.combine[HCCL_DATA_TYPE_FP64][HCCL_REDUCE_SUM] = &combineKernel<FloatSum<double>>;
  table.combine[HCCL_DATA_TYPE_FP64][HCCL_REDUCE_PROD] = &combineKernel<FloatProduct<double>>;
  fillMinMax<int32_t, 0x7F800000, 0x7FC00000>(table, HCCL_DATA_TYPE_FP32);
  fillMinMax<int64_t, 0x7FF0000000000000, 0x7FF8000000000000>(table, HCCL_DATA_TYPE_FP64);
}

}  // namespace HWY_NAMESPACE
}  // namespace hccl::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hccl::reduce {

HWY_EXPORT(fillFloats);

void fillFloatKernels(KernelTable& table) {
  HWY_DYNAMIC_DISPATCH(fillFloats)(table);
}

}  // namespace hccl::reduce
#endif
