// Kernels of fp16 and bfp16: summed and multiplied in float, rounded once, to nearest even.
#include <cstdint>

#include "src/reduce/kernel_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/reduce/kernels_half.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h first.
#include "hwy/highway.h"
#include "src/reduce/half_codec-inl.h"
#include "src/reduce/ordered_key-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hccl::reduce {
namespace HWY_NAMESPACE {

struct Add {
  static HWY_INLINE FloatVec of(FloatVec a, FloatVec b) { return hn::Add(a, b); }
};

struct Multiply {
  static HWY_INLINE FloatVec of(FloatVec a, FloatVec b) { return hn::Mul(a, b); }
};

// Codec: Fp16 or Bfp16.
template <class Codec, class Op>
struct InFloat {
  using Mem = uint16_t;
  using V = Floats;
  using M = hn::Vec<hn::ScalableTag<uint16_t>>;
  static constexpr size_t kAccRatio = 2;
  static HWY_INLINE V in(M m) { return Codec::toFloat(m); }
  static HWY_INLINE M out(V v) {
    const FloatVec nan = hn::Set(FloatTag(), std::numeric_limits<float>::quiet_NaN());
    v.a = hn::IfThenElse(hn::IsNaN(v.a), nan, v.a);
#if HWY_TARGET != HWY_SCALAR
    v.b = hn::IfThenElse(hn::IsNaN(v.b), nan, v.b);
#endif
    return Codec::fromFloat(v);
  }
  static HWY_INLINE V op(V x, V y) {
    x.a = Op::of(x.a, y.a);
#if HWY_TARGET != HWY_SCALAR
    x.b = Op::of(x.b, y.b);
#endif
    return x;
  }
  static HWY_INLINE void save(V v, uint8_t* to) {
    float* lanes = reinterpret_cast<float*>(to);
    hn::Store(v.a, FloatTag(), lanes);
#if HWY_TARGET != HWY_SCALAR
    hn::Store(v.b, FloatTag(), lanes + hn::Lanes(FloatTag()));
#endif
  }
  static HWY_INLINE V restore(const uint8_t* from) {
    const float* lanes = reinterpret_cast<const float*>(from);
    V v;
    v.a = hn::Load(FloatTag(), lanes);
#if HWY_TARGET != HWY_SCALAR
    v.b = hn::Load(FloatTag(), lanes + hn::Lanes(FloatTag()));
#endif
    return v;
  }
};

void fillHalves(KernelTable& table) {
  table.combine[HCCL_DATA_TYPE_FP16][HCCL_REDUCE_SUM] = &combineKernel<InFloat<Fp16, Add>>;
  table.combine[HCCL_DATA_TYPE_FP16][HCCL_REDUCE_PROD] = &combineKernel<InFloat<Fp16, Multiply>>;
  table.combine[HCCL_DATA_TYPE_BFP16][HCCL_REDUCE_SUM] = &combineKernel<InFloat<Bfp16, Add>>;
  fillMinMax<int16_t, 0x7C00, 0x7E00>(table, HCCL_DATA_TYPE_FP16);
  fillMinMax<int16_t, 0x7F80, 0x7FC0>(table, HCCL_DATA_TYPE_BFP16);
}

}  // namespace HWY_NAMESPACE
}  // namespace hccl::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hccl::reduce {

HWY_EXPORT(fillHalves);

void fillHalfKernels(KernelTable& table) {
  HWY_DYNAMIC_DISPATCH(fillHalves)(table);
}

}  // namespace hccl::reduce
#endif
