// float to fp16 and bfp16 on every SIMD target, beyond the floats that sums and products reach: a
// sieve over all bit patterns, and the three floats around every rounding boundary.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "src/reduce/kernel_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/reduce/codec_test.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h first.
#include "hwy/highway.h"
#include "src/reduce/half_codec-inl.h"
#include "tests/unit/reduce/reference.h"

HWY_BEFORE_NAMESPACE();
namespace hccl::reduce {
namespace HWY_NAMESPACE {

// One vector of fp16 or bfp16 out of floats in memory order; returns how many.
template <class Codec, bool kInterleaved>
size_t narrowSome(const float* in, uint16_t* out) {
  const FloatTag d;
  const size_t n = hn::Lanes(d);
#if HWY_TARGET == HWY_SCALAR
  hn::StoreU(Codec::fromFloat(Floats{hn::LoadU(d, in)}), HalfTag(), out);
  return n;
#else
  alignas(64) float a[64], b[64];
  for (size_t i = 0; i < n; ++i) {
    a[i] = in[kInterleaved ? 2 * i : i];
    b[i] = in[kInterleaved ? 2 * i + 1 : n + i];
  }
  hn::StoreU(Codec::fromFloat(Floats{hn::Load(d, a), hn::Load(d, b)}), HalfTag(), out);
  return 2 * n;
#endif
}

size_t fp16Some(const float* in, uint16_t* out) {
  return narrowSome<Fp16, false>(in, out);
}
size_t bfp16Some(const float* in, uint16_t* out) {
  return narrowSome<Bfp16, true>(in, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace hccl::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hccl::reduce {

HWY_EXPORT(fp16Some);
HWY_EXPORT(bfp16Some);

namespace test {
namespace {

constexpr size_t kMostLanes = 64;

std::vector<float> interestingFloats() {
  std::vector<float> floats;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099) {
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (const auto decode : {fp16ToDouble, bfp16ToDouble}) {
    for (uint32_t i = 0; i < 65535; ++i) {
      const double low = decode(static_cast<uint16_t>(i));
      const double high = decode(static_cast<uint16_t>(i + 1));
      if (!std::isfinite(low)) continue;
      const double middle = std::isfinite(high) ? (low + high) / 2 : low * (1 + 0x1p-12);
      const auto tie = static_cast<float>(middle);
      for (float f : {tie, std::nextafter(tie, INFINITY), std::nextafter(tie, -INFINITY)}) {
        floats.push_back(f);
      }
    }
  }
  for (float f : {65504.0f, 65519.996f, 65520.0f, 65536.0f, 0x1p-25f, 0x1.000002p-25f, 0x1p-24f}) {
    floats.push_back(f);
    floats.push_back(-f);
  }
  for (float& f : floats) {
    if (std::isnan(f)) f = std::numeric_limits<float>::quiet_NaN();
  }
  floats.resize((floats.size() / kMostLanes + 1) * kMostLanes);
  return floats;
}

TEST(CodecTest, RoundsToNearestEvenOnAllTargets) {
  const std::vector<float> floats = interestingFloats();
  for (int64_t target : usableTargets()) {
    const OnlyTarget only(target);
    uint16_t got[kMostLanes];
    for (size_t i = 0; i < floats.size();) {
      const size_t n = HWY_DYNAMIC_DISPATCH(fp16Some)(&floats[i], got);
      for (size_t k = 0; k < n; ++k, ++i) {
        ASSERT_EQ(doubleToFp16(floats[i]), got[k]) << floats[i] << " " << hwy::TargetName(target);
      }
    }
    for (size_t i = 0; i < floats.size();) {
      const size_t n = HWY_DYNAMIC_DISPATCH(bfp16Some)(&floats[i], got);
      for (size_t k = 0; k < n; ++k, ++i) {
        ASSERT_EQ(doubleToBfp16(floats[i]), got[k]) << floats[i] << " " << hwy::TargetName(target);
      }
    }
  }
}

}  // namespace
}  // namespace test
}  // namespace hccl::reduce
#endif
