// MIN and MAX of floating-point lanes by integer comparison, compiled once per SIMD target.
#if defined(HCCL_REDUCE_ORDERED_KEY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HCCL_REDUCE_ORDERED_KEY_INL_H_
#undef HCCL_REDUCE_ORDERED_KEY_INL_H_
#else
#define HCCL_REDUCE_ORDERED_KEY_INL_H_
#endif

#include <limits>

#include "hwy/highway.h"
#include "src/reduce/kernel_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hccl::reduce {
namespace HWY_NAMESPACE {

// A lane becomes an integer key of the same order, with -0 right below +0 and every NaN beyond the
// infinity that the operation looks for. So NaN propagates, the operation commutes, and neither the
// floating-point environment nor the target's own idea of min and max plays a part.
// `Int`: signed, as wide as the lane. `kInfinity`, `kNan`: bits of +infinity and of the quiet NaN
// that stands for all in the result.
template <typename Int, Int kInfinity, Int kNan, bool kMax>
struct OrderedKey : Plain<Int> {
  using D = typename Plain<Int>::D;
  using V = typename Plain<Int>::V;
  static constexpr Int kMagnitude = std::numeric_limits<Int>::max();
  static constexpr Int kNanKey =
      kMax ? std::numeric_limits<Int>::max() : std::numeric_limits<Int>::min();

  // Its own inverse.
  static HWY_INLINE V flip(V v) {
    return hn::Xor(v, hn::And(hn::BroadcastSignBit(v), hn::Set(D(), kMagnitude)));
  }
  static HWY_INLINE auto isNan(V bits) {
    return hn::Gt(hn::And(bits, hn::Set(D(), kMagnitude)), hn::Set(D(), kInfinity));
  }
  static HWY_INLINE V in(V m) { return hn::IfThenElse(isNan(m), hn::Set(D(), kNanKey), flip(m)); }
  static HWY_INLINE V out(V key) {
    const V bits = flip(key);
    return hn::IfThenElse(isNan(bits), hn::Set(D(), kNan), bits);
  }
  static HWY_INLINE V op(V a, V b) { return kMax ? hn::Max(a, b) : hn::Min(a, b); }
};

template <typename Int, Int kInfinity, Int kNan>
void fillMinMax(KernelTable& table, HcclDataType type) {
  table.combine[type][HCCL_REDUCE_MAX] = &combineKernel<OrderedKey<Int, kInfinity, kNan, true>>;
  table.combine[type][HCCL_REDUCE_MIN] = &combineKernel<OrderedKey<Int, kInfinity, kNan, false>>;
}

}  // namespace HWY_NAMESPACE
}  // namespace hccl::reduce
HWY_AFTER_NAMESPACE();

#endif  // HCCL_REDUCE_ORDERED_KEY_INL_H_
