// fp16 and bfp16 to and from float, compiled once per SIMD target.
//
// One vector of 16-bit lanes becomes two vectors of float (one on the one-lane scalar target).
// Rounding is to nearest even, denormals are kept, what exceeds the largest number becomes
// infinity. NaN has to be the quiet one already in fromFloat().
#if defined(HCCL_REDUCE_HALF_CODEC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HCCL_REDUCE_HALF_CODEC_INL_H_
#undef HCCL_REDUCE_HALF_CODEC_INL_H_
#else
#define HCCL_REDUCE_HALF_CODEC_INL_H_
#endif

#include "hwy/highway.h"

// Highway 1.0.3 converts fp16 with the F16C instructions from AVX2 on: the rounding mode stands in
// the instruction, and neither direction obeys the flush modes where an fp16 denormal is concerned.
// Below AVX2 its emulation truncates and makes numbers of infinity and NaN, so ours is used.
#undef HCCL_REDUCE_F16C
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define HCCL_REDUCE_F16C 1
#else
#define HCCL_REDUCE_F16C 0
#endif

HWY_BEFORE_NAMESPACE();
namespace hccl::reduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using HalfTag = hn::ScalableTag<uint16_t>;
using HalfVec = hn::Vec<HalfTag>;
using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;
using BitsTag = hn::ScalableTag<uint32_t>;
using BitsVec = hn::Vec<BitsTag>;
using NarrowTag = hn::Rebind<uint16_t, FloatTag>;  // as many 16-bit lanes as a float vector has
using NarrowVec = hn::Vec<NarrowTag>;

struct Floats {
  FloatVec a;
#if HWY_TARGET != HWY_SCALAR
  FloatVec b;
#endif
};

struct Fp16 {
#if HCCL_REDUCE_F16C
  using NarrowFp16 = hn::Rebind<hwy::float16_t, FloatTag>;
  static HWY_INLINE FloatVec widen(NarrowVec v) {
    return hn::PromoteTo(FloatTag(), hn::BitCast(NarrowFp16(), v));
  }
  static HWY_INLINE NarrowVec narrow(FloatVec v) {
    return hn::BitCast(NarrowTag(), hn::DemoteTo(NarrowFp16(), v));
  }
#else
  static HWY_INLINE FloatVec widen(NarrowVec v) {
    const BitsTag d;
    const hn::RebindToSigned<BitsTag> di;
    const BitsVec bits = hn::PromoteTo(d, v);
    const BitsVec magnitude = hn::And(bits, hn::Set(d, 0x7FFFu));
    const BitsVec sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
    // Exponent bias 15 to 127; once more that far for infinity and NaN.
    const BitsVec bias = hn::Set(d, 112u << 23);
    BitsVec wide = hn::Add(hn::ShiftLeft<13>(magnitude), bias);
    const auto special = hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, 0x7BFF));
    wide = hn::Add(wide, hn::IfThenElseZero(hn::RebindMask(d, special), bias));
    // A denormal is its integer times 2^-24, and a normal number in float.
    const FloatVec tiny = hn::Mul(hn::ConvertTo(FloatTag(), hn::BitCast(di, magnitude)),
                                  hn::Set(FloatTag(), 0x1p-24f));
    const auto denormal = hn::Lt(hn::BitCast(di, magnitude), hn::Set(di, 0x0400));
    wide = hn::IfThenElse(hn::RebindMask(d, denormal), hn::BitCast(d, tiny), wide);
    return hn::BitCast(FloatTag(), hn::Or(wide, sign));
  }
  static HWY_INLINE NarrowVec narrow(FloatVec v) {
    const BitsTag d;
    const hn::RebindToSigned<BitsTag> di;
    const BitsVec bits = hn::BitCast(d, v);
    const BitsVec magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFFu));
    const BitsVec sign = hn::ShiftRight<16>(hn::Xor(bits, magnitude));
    const auto order = hn::BitCast(di, magnitude);
    const BitsVec odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d, 1u));
    const BitsVec rounded = hn::Add(hn::Add(magnitude, hn::Set(d, 0x0FFFu)), odd);
    BitsVec half = hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(d, 112u << 23)));
    // 65520 and above round to infinity.
    const auto large = hn::Gt(order, hn::Set(di, 0x477FEFFF));
    const auto nan = hn::Gt(order, hn::Set(di, 0x7F800000));
    half = hn::IfThenElse(hn::RebindMask(d, large), hn::Set(d, 0x7C00u), half);
    half = hn::IfThenElse(hn::RebindMask(d, nan), hn::Set(d, 0x7E00u), half);
    const auto small = hn::RebindMask(d, hn::Lt(order, hn::Set(di, 0x38800000)));
    // Shifts that differ from lane to lane are slow here, and such lanes are rare.
    if (HWY_UNLIKELY(!hn::AllFalse(d, small))) {
      half = hn::IfThenElse(small, denormal(magnitude), half);
    }
    return hn::DemoteTo(NarrowTag(), hn::BitCast(di, hn::Or(half, sign)));
  }
  // Below 2^-14: the significand moved down to units of 2^-24 in two exact steps and one rounding
  // one, all in integers.
  static HWY_INLINE BitsVec denormal(BitsVec magnitude) {
    const BitsTag d;
    const BitsVec exponent = hn::ShiftRight<23>(magnitude);  // at most 112
    const BitsVec significand =
        hn::Or(hn::And(magnitude, hn::Set(d, 0x007FFFFFu)), hn::Set(d, 0x00800000u));
    // Right by 126 - exponent, 14 at least; from 25 on nothing is left of it, not even a tie.
    const BitsVec distance =
        hn::Min(hn::Sub(hn::Set(d, 126u), hn::Min(exponent, hn::Set(d, 126u))), hn::Set(d, 25u));
    const BitsVec one = hn::Set(d, 1u);
    const BitsVec half = hn::Shl(one, hn::Sub(distance, one));
    const BitsVec odd = hn::And(hn::Shr(significand, distance), one);
    return hn::Shr(hn::Add(hn::Add(significand, hn::Sub(half, one)), odd), distance);
  }
#endif

#if HWY_TARGET == HWY_SCALAR
  static HWY_INLINE Floats toFloat(HalfVec m) {
    return Floats{widen(m)};
  }
  static HWY_INLINE HalfVec fromFloat(Floats f) {
    return narrow(f.a);
  }
#else
  static HWY_INLINE Floats toFloat(HalfVec m) {
    return Floats{widen(hn::LowerHalf(NarrowTag(), m)), widen(hn::UpperHalf(NarrowTag(), m))};
  }
  static HWY_INLINE HalfVec fromFloat(Floats f) {
    return hn::Combine(HalfTag(), narrow(f.b), narrow(f.a));
  }
#endif
};

struct Bfp16 {
  // The result stands in the upper 16 bits. A finite number may round to infinity; the quiet NaN
  // stays as it is.
  static HWY_INLINE BitsVec round(FloatVec v) {
    const BitsTag d;
    const BitsVec bits = hn::BitCast(d, v);
    const BitsVec odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
    return hn::Add(hn::Add(bits, hn::Set(d, 0x7FFFu)), odd);
  }
#if HWY_TARGET == HWY_SCALAR
  static HWY_INLINE Floats toFloat(HalfVec m) {
    const BitsTag d;
    return Floats{hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(d, m)))};
  }
  static HWY_INLINE HalfVec fromFloat(Floats f) {
    const hn::RebindToSigned<BitsTag> di;
    return hn::DemoteTo(HalfTag(), hn::BitCast(di, hn::ShiftRight<16>(round(f.a))));
  }
#else
  // Even lanes in .a and odd lanes in .b: nothing has to cross lanes.
  static HWY_INLINE Floats toFloat(HalfVec m) {
    const BitsTag d;
    const BitsVec pairs = hn::BitCast(d, m);
    return Floats{hn::BitCast(FloatTag(), hn::ShiftLeft<16>(pairs)),
                  hn::BitCast(FloatTag(), hn::And(pairs, hn::Set(d, 0xFFFF0000u)))};
  }
  static HWY_INLINE HalfVec fromFloat(Floats f) {
    const BitsTag d;
    const BitsVec odd = hn::And(round(f.b), hn::Set(d, 0xFFFF0000u));
    return hn::BitCast(HalfTag(), hn::Or(hn::ShiftRight<16>(round(f.a)), odd));
  }
#endif
};

}  // namespace HWY_NAMESPACE
}  // namespace hccl::reduce
HWY_AFTER_NAMESPACE();

#endif  // HCCL_REDUCE_HALF_CODEC_INL_H_
