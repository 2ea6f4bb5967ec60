// The data of the benchmarks' checks: right results pass, every kind of wrong one is noticed.
#include "bench/parts/pattern.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "bench/parts/operation.h"
#include "bench/parts/types.h"

namespace hccl::bench {
namespace {

double decode(HcclDataType type, uint64_t bits) {
  switch (type) {
    case HCCL_DATA_TYPE_FP64:
      return std::bit_cast<double>(bits);
    case HCCL_DATA_TYPE_FP32:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case HCCL_DATA_TYPE_BFP16:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits << 16)));
    default: {
      const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
      const int exponent = static_cast<int>(bits >> 10 & 31U);
      const auto fraction = static_cast<double>(bits & 0x3ffU);
      return exponent == 0 ? sign * fraction
                           : sign * std::ldexp(1 + fraction / 1024, exponent - 15);
    }
  }
}

TEST(BenchPattern, FloatingReductionsAreExactInEveryType) {
  for (const HcclDataType type :
       {HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_BFP16, HCCL_DATA_TYPE_FP32, HCCL_DATA_TYPE_FP64}) {
    for (const uint32_t ranks : {1U, 2U, 3U, 8U, 300U, 3000U}) {
      for (const HcclReduceOp op : {HCCL_REDUCE_SUM, HCCL_REDUCE_MAX, HCCL_REDUCE_PROD}) {
        const Pattern result = Pattern::reduced(type, op, ranks);
        for (const uint64_t index : {0ULL, 1ULL, 500ULL, 1020ULL}) {
          double total = op == HCCL_REDUCE_PROD ? 1 : op == HCCL_REDUCE_MAX ? -1e9 : 0;
          double magnitude = 0;
          for (uint32_t rank = 0; rank < ranks; ++rank) {
            if (rank > 20 && ranks > 1000) break;  // enough for the magnitude below
            const double value = decode(type, Pattern::input(type, op, rank, ranks).bits(index));
            magnitude += std::abs(value);
            total = op == HCCL_REDUCE_SUM    ? total + value
                    : op == HCCL_REDUCE_PROD ? total * value
                                             : std::max(total, value);
          }
          if (ranks <= 1000) {
            EXPECT_EQ(decode(type, result.bits(index)), total)
                << "type " << type << " op " << op << " ranks " << ranks << " index " << index;
          }
          if (op == HCCL_REDUCE_SUM) {
            EXPECT_LE(magnitude, typeInfo(type).exactIntegers);
          }
        }
      }
    }
  }
}

TEST(BenchPattern, IntegersWrap) {
  const Pattern sum = Pattern::reduced(HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM, 5);
  uint8_t expected = 0;
  for (uint32_t rank = 0; rank < 5; ++rank) {
    expected = static_cast<uint8_t>(
        expected + Pattern::input(HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM, rank, 5).bits(17));
  }
  EXPECT_EQ(sum.bits(17), expected);
  const Pattern least = Pattern::reduced(HCCL_DATA_TYPE_INT8, HCCL_REDUCE_MIN, 200);
  EXPECT_LT(static_cast<int8_t>(least.bits(3)), -100);  // signed comparison
}

TEST(BenchPattern, WrongElementsAreFound) {
  for (const TypeInfo& info : types()) {
    const Pattern pattern = Pattern::input(info.type, std::nullopt, 1, 4);
    const uint64_t count = 2 * kPeriod + 77;
    std::vector<std::byte> data(count * info.bytes);
    pattern.fill(data.data(), count, 5);
    EXPECT_FALSE(pattern.firstDifference(data.data(), count, 5).has_value()) << info.name;
    EXPECT_TRUE(pattern.firstDifference(data.data(), count, 6).has_value()) << "shifted";
    EXPECT_TRUE(Pattern::input(info.type, std::nullopt, 2, 4)
                    .firstDifference(data.data(), count, 5)
                    .has_value())
        << "of another rank";
    for (const uint64_t wrong : {uint64_t{0}, kPeriod - 1, kPeriod, count - 1}) {
      std::vector<std::byte> broken = data;
      broken[wrong * info.bytes + info.bytes - 1] ^= std::byte{1};
      EXPECT_EQ(pattern.firstDifference(broken.data(), count, 5), wrong) << info.name;
    }
  }
}

TEST(BenchOperation, UnevenPartsFillTheVector) {
  for (const uint32_t ranks : {1U, 2U, 5U, 8U}) {
    const Parts parts = unevenParts(1000, ranks);
    EXPECT_EQ(parts.total, 1000U * ranks);
    Job job;
    job.ranks = ranks;
    job.count = 1000ULL * ranks;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(sentParts(job, rank).total, job.count);
      EXPECT_EQ(receivedParts(job, rank).total, job.count);
    }
  }
}

}  // namespace
}  // namespace hccl::bench
