// What combine() promises about numbers: rounding of fp16 and bfp16, NaN and signed zeros, and bits
// that depend on neither the SIMD target nor the caller's floating-point environment.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/unit/reduce/reference.h"

namespace hccl::reduce::test {
namespace {

Bytes combineBytes(const std::vector<Bytes>& sources, HcclDataType type, HcclReduceOp op) {
  Bytes out(sources[0].size());
  std::vector<const void*> src;
  for (const Bytes& s : sources) src.push_back(s.data());
  void* dst[] = {out.data()};
  combine(dst, 1, src.data(), static_cast<int>(src.size()), out.size() / typeSize(type), type, op);
  return out;
}

template <typename T>
Bytes bytesOf(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
T combineOne(T a, T b, HcclDataType type, HcclReduceOp op) {
  const Bytes out = combineBytes({bytesOf<T>({a}), bytesOf<T>({b})}, type, op);
  T result;
  std::memcpy(&result, out.data(), sizeof(T));
  return result;
}

class NumericsTest : public testing::TestWithParam<int64_t> {
  OnlyTarget only_{GetParam()};
};

std::vector<uint16_t> everyPattern() {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  return all;
}

// x + -0 is x: the way to float and back, for every pattern.
TEST_P(NumericsTest, HalfRoundTripIsExact) {
  const std::vector<uint16_t> all = everyPattern();
  const Bytes zero = bytesOf(std::vector<uint16_t>(all.size(), 0x8000));
  for (auto [type, infinity, nan] : {std::tuple(HCCL_DATA_TYPE_FP16, 0x7C00, 0x7E00),
                                     std::tuple(HCCL_DATA_TYPE_BFP16, 0x7F80, 0x7FC0)}) {
    const Bytes out = combineBytes({bytesOf(all), zero}, type, HCCL_REDUCE_SUM);
    for (size_t i = 0; i < all.size(); ++i) {
      uint16_t got;
      std::memcpy(&got, out.data() + 2 * i, 2);
      const int expected = (all[i] & 0x7FFF) > infinity ? nan : all[i];
      ASSERT_EQ(expected, got) << typeName(type) << " " << all[i];
    }
  }
}

// Every number with half a unit in the last place, a little less and a little more, both ways.
TEST_P(NumericsTest, HalfSumsTieToEven) {
  for (HcclDataType type : {HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_BFP16}) {
    const auto decode = type == HCCL_DATA_TYPE_FP16 ? fp16ToDouble : bfp16ToDouble;
    const auto encode = type == HCCL_DATA_TYPE_FP16 ? doubleToFp16 : doubleToBfp16;
    std::vector<uint16_t> base, half, bit;
    for (uint32_t i = 0; i < 65535; ++i) {
      const auto bits = static_cast<uint16_t>(i);
      const double value = decode(bits), next = decode(static_cast<uint16_t>(i + 1));
      const double middle = (std::isfinite(value) && std::isfinite(next)) ? (next - value) / 2 : 16;
      for (double nudge : {0.0, middle / 64, -middle / 64}) {
        base.push_back(bits);
        half.push_back(encode(middle));
        bit.push_back(encode(nudge));
      }
    }
    const std::vector<Bytes> sources = {bytesOf(base), bytesOf(half), bytesOf(bit)};
    ASSERT_EQ(referenceCombine(sources, base.size(), type, HCCL_REDUCE_SUM),
              combineBytes(sources, type, HCCL_REDUCE_SUM))
        << typeName(type);
  }
}

// Products reach every rounding case between fp16 denormals, underflow and overflow.
TEST_P(NumericsTest, HalfProductsRoundOnce) {
  const std::vector<uint16_t> all = everyPattern();
  std::mt19937_64 random(7);
  std::vector<uint16_t> factors = {0x3800, 0x3400, 0x3A00, 0x0001, 0x0400, 0x3C01, 0x7BFF, 0x8001};
  for (int i = 0; i < 8; ++i) factors.push_back(static_cast<uint16_t>(random()));
  for (uint16_t factor : factors) {
    const std::vector<Bytes> sources = {bytesOf(all),
                                        bytesOf(std::vector<uint16_t>(all.size(), factor)),
                                        bytesOf(std::vector<uint16_t>(all.size(), 0x3D55))};
    ASSERT_EQ(referenceCombine(sources, all.size(), HCCL_DATA_TYPE_FP16, HCCL_REDUCE_PROD),
              combineBytes(sources, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_PROD))
        << factor;
  }
}

TEST_P(NumericsTest, HalfIsRoundedOnceOverAllSources) {
  // 2048 + 1 + 1 in fp16 is 2048 when rounded after each sum and 2050 when rounded once.
  const std::vector<Bytes> sources = {bytesOf<uint16_t>({0x6800}), bytesOf<uint16_t>({0x3C00}),
                                      bytesOf<uint16_t>({0x3C00})};
  EXPECT_EQ(bytesOf<uint16_t>({0x6801}),
            combineBytes(sources, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_SUM));
  std::vector<Bytes> many = {bytesOf<uint16_t>({0x6800})};
  for (int i = 0; i < 16; ++i) many.push_back(bytesOf<uint16_t>({0x3C00}));
  EXPECT_EQ(bytesOf<uint16_t>({0x6808}), combineBytes(many, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_SUM));
}

TEST_P(NumericsTest, SumsGoFromLeftToRight) {
  const std::vector<Bytes> sources = {bytesOf<float>({1e8f}), bytesOf<float>({-1e8f}),
                                      bytesOf<float>({1.0f}), bytesOf<float>({1e-8f})};
  EXPECT_EQ(bytesOf<float>({1.0f}), combineBytes(sources, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
  const std::vector<Bytes> other = {bytesOf<float>({1e8f}), bytesOf<float>({1.0f}),
                                    bytesOf<float>({-1e8f})};
  EXPECT_EQ(bytesOf<float>({0.0f}), combineBytes(other, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
}

TEST_P(NumericsTest, MinAndMaxOfSignedZerosCommute) {
  for (auto [a, b] : {std::pair(0x0000, 0x8000), std::pair(0x8000, 0x0000)}) {
    for (HcclDataType type : {HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_BFP16}) {
      EXPECT_EQ(0x0000, combineOne<uint16_t>(a, b, type, HCCL_REDUCE_MAX));
      EXPECT_EQ(0x8000, combineOne<uint16_t>(a, b, type, HCCL_REDUCE_MIN));
    }
    const float fa = a ? -0.0f : 0.0f, fb = b ? -0.0f : 0.0f;
    EXPECT_FALSE(std::signbit(combineOne(fa, fb, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX)));
    EXPECT_TRUE(std::signbit(combineOne(fa, fb, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MIN)));
    const double da = fa, db = fb;
    EXPECT_FALSE(std::signbit(combineOne(da, db, HCCL_DATA_TYPE_FP64, HCCL_REDUCE_MAX)));
    EXPECT_TRUE(std::signbit(combineOne(da, db, HCCL_DATA_TYPE_FP64, HCCL_REDUCE_MIN)));
  }
}

TEST_P(NumericsTest, NanOfEitherSignPropagates) {
  for (HcclReduceOp op : allOps()) {
    for (uint32_t nan : {0x7F800001u, 0x7FC12345u, 0xFF800001u, 0xFFFFFFFFu}) {
      for (float other : {1.0f, -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::infinity()}) {
        const auto bits = std::bit_cast<uint32_t>(other);
        EXPECT_EQ(0x7FC00000u, combineOne<uint32_t>(nan, bits, HCCL_DATA_TYPE_FP32, op));
        EXPECT_EQ(0x7FC00000u, combineOne<uint32_t>(bits, nan, HCCL_DATA_TYPE_FP32, op));
      }
    }
    EXPECT_EQ(0x7E00, combineOne<uint16_t>(0xFC01, 0x3C00, HCCL_DATA_TYPE_FP16, op));
    EXPECT_EQ(0x7E00, combineOne<uint16_t>(0x3C00, 0x7FFF, HCCL_DATA_TYPE_FP16, op));
  }
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(0x7FC00000u, std::bit_cast<uint32_t>(combineOne(infinity, -infinity,
                                                            HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM)));
}

#if defined(__x86_64__)
// Flush-to-zero, denormals-are-zero and rounding towards zero in the calling thread.
TEST_P(NumericsTest, CallersFloatEnvironmentDoesNotMatter) {
  constexpr size_t kCount = 1003;
  for (HcclDataType type : reducibleTypes()) {
    std::mt19937_64 random(type);
    std::vector<Bytes> sources;
    for (int s = 0; s < 11; ++s) {
      sources.push_back(makeInput(random, kCount, type));
      // Every third element denormal, so that flushing would show.
      for (size_t i = 0; i < kCount; i += 3) {
        uint8_t* lane = sources.back().data() + i * typeSize(type);
        if (type == HCCL_DATA_TYPE_FP32 || type == HCCL_DATA_TYPE_FP64) {
          lane[typeSize(type) - 1] = s % 2 != 0 ? 0x80 : 0;
          lane[typeSize(type) - 2] &= 0x0F;
        } else if (type == HCCL_DATA_TYPE_FP16 || type == HCCL_DATA_TYPE_BFP16) {
          lane[1] = s % 2 != 0 ? 0x80 : 0;
          lane[0] &= 0x7F;
        }
      }
    }
    for (HcclReduceOp op : allOps()) {
      if (!supported(type, op)) continue;
      const Bytes expected = referenceCombine(sources, kCount, type, op);
      const unsigned saved = _mm_getcsr();
      const unsigned strange = 0x1F80 | 0x8000 | 0x0040 | 0x6000;
      _mm_setcsr(strange);
      const Bytes got = combineBytes(sources, type, op);
      const unsigned after = _mm_getcsr();
      _mm_setcsr(saved);
      ASSERT_EQ(expected, got) << typeName(type) << " op " << op;
      ASSERT_EQ(strange, after & ~0x3Fu) << "the caller's environment is restored";
    }
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(AllTargets, NumericsTest, testing::ValuesIn(usableTargets()),
                         [](const auto& instance) {
                           return std::string(hwy::TargetName(instance.param));
                         });

// Random bits through every target: one result.
TEST(TargetsTest, BitsAreTheSameOnAllTargets) {
  constexpr size_t kCount = 20011;
  ASSERT_GE(usableTargets().size(), 1u);
  for (HcclDataType type : reducibleTypes()) {
    std::mt19937_64 random(type + 99);
    std::vector<Bytes> sources(12, Bytes(kCount * typeSize(type)));
    for (Bytes& s : sources) {
      for (uint8_t& b : s) b = static_cast<uint8_t>(random());
    }
    for (HcclReduceOp op : allOps()) {
      if (!supported(type, op)) continue;
      for (size_t n : {size_t{2}, size_t{5}, sources.size()}) {
        const std::vector<Bytes> some(sources.begin(), sources.begin() + n);
        Bytes first;
        for (int64_t target : usableTargets()) {
          const OnlyTarget only(target);
          const Bytes got = combineBytes(some, type, op);
          if (first.empty()) first = got;
          ASSERT_EQ(first, got) << typeName(type) << " op " << op << " " << hwy::TargetName(target);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hccl::reduce::test
