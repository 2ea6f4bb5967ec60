// combine() against the reference: type x op x sources x targets x count x alignment x in place x
// streaming, on every SIMD target of this CPU, with red zones around every output.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/reduce/reference.h"

namespace hccl::reduce::test {
namespace {

constexpr size_t kMaxCount = 4099;
constexpr size_t kRedZone = 128;
constexpr uint8_t kRed = 0xA5;

// A buffer that starts `offset` bytes after a cache line, between two red zones.
class Guarded {
 public:
  Guarded() : storage_(kMaxCount * 8 + 4 * kRedZone + 64) {}

  void prepare(size_t offset, size_t bytes) {
    bytes_ = bytes;
    const size_t misaligned = reinterpret_cast<uintptr_t>(storage_.data()) % 64;
    begin_ = storage_.data() + (64 - misaligned) % 64 + kRedZone + offset;
    std::memset(begin_ - kRedZone, kRed, bytes + 2 * kRedZone);
  }
  uint8_t* data() { return begin_; }
  bool redZonesIntact() const {
    static const Bytes red(kRedZone, kRed);
    return std::memcmp(begin_ - kRedZone, red.data(), kRedZone) == 0 &&
           std::memcmp(begin_ + bytes_, red.data(), kRedZone) == 0;
  }

 private:
  Bytes storage_;
  uint8_t* begin_ = nullptr;
  size_t bytes_ = 0;
};

struct Case {
  HcclDataType type;
  HcclReduceOp op;
  int sources;
  int targets;
  size_t count;
  int alignment;  // 0: cache lines, 1: whole elements, different ones, 2: any byte
  int inPlace;    // which source is a target too, or -1
  bool streaming;
};

class CombineTest : public testing::TestWithParam<std::tuple<int64_t, HcclDataType>> {
 protected:
  static size_t offset(const Case& c, int which) {
    if (c.alignment == 0) return 0;
    if (c.alignment == 1) return typeSize(c.type) * static_cast<size_t>(which % 5 + 1);
    return static_cast<size_t>(which * 7 + 1) % 64;
  }

  void loadSources(const std::vector<Bytes>& inputs, const Case& base) {
    inputs_.resize(std::max(inputs_.size(), inputs.size()));
    for (size_t s = 0; s < inputs.size(); ++s) {
      inputs_[s].prepare(offset(base, static_cast<int>(s)), inputs[s].size());
      std::memcpy(inputs_[s].data(), inputs[s].data(), inputs[s].size());
    }
  }

  void check(const Case& c, const std::vector<Bytes>& inputs, const Bytes& expected) {
    const size_t bytes = c.count * typeSize(c.type);
    std::vector<const void*> src;
    for (int s = 0; s < c.sources; ++s) src.push_back(inputs_[s].data());
    std::vector<void*> dst;
    outputs_.resize(std::max(outputs_.size(), static_cast<size_t>(c.targets)));
    for (int t = 0; t < c.targets; ++t) {
      outputs_[t].prepare(offset(c, t + 3), bytes);
      dst.push_back(outputs_[t].data());
    }
    if (c.inPlace >= 0) {
      uint8_t* shared = outputs_[c.inPlace % c.targets].data();
      std::memcpy(shared, inputs[c.inPlace].data(), bytes);
      src[c.inPlace] = shared;
    }
    combine(dst.data(), c.targets, src.data(), c.sources, c.count, c.type, c.op, c.streaming);
    for (int t = 0; t < c.targets; ++t) {
      ASSERT_EQ(0, bytes == 0 ? 0 : std::memcmp(dst[t], expected.data(), bytes))
          << describe(c) << " target " << t << " differs at byte "
          << firstDifference(dst[t], expected, bytes);
      ASSERT_TRUE(outputs_[t].redZonesIntact()) << describe(c) << " target " << t;
    }
  }

  static size_t firstDifference(const void* got, const Bytes& expected, size_t bytes) {
    const auto* g = static_cast<const uint8_t*>(got);
    for (size_t i = 0; i < bytes; ++i) {
      if (g[i] != expected[i]) return i;
    }
    return bytes;
  }
  static std::string describe(const Case& c) {
    return typeName(c.type) + " op " + std::to_string(c.op) + " sources " +
           std::to_string(c.sources) + " count " + std::to_string(c.count) + " alignment " +
           std::to_string(c.alignment) + " in place " + std::to_string(c.inPlace) + " streaming " +
           std::to_string(c.streaming);
  }

  // None (-1) and every source; of very many, those around the borders of the groups.
  static std::vector<int> inPlacePositions(int sources) {
    if (sources > 17) return {-1, 0, 7, 8, sources - 1};
    std::vector<int> positions;
    for (int s = -1; s < sources; ++s) positions.push_back(s);
    return positions;
  }

  // All alignments, in-place positions and both kinds of store.
  void checkAll(HcclDataType type, HcclReduceOp op, int sources, const std::vector<int>& targets,
                const std::vector<size_t>& counts) {
    std::mt19937_64 random(type * 1000 + op * 100 + sources);
    std::vector<Bytes> inputs;
    for (int s = 0; s < sources; ++s) inputs.push_back(makeInput(random, kMaxCount, type));
    const Bytes expected = referenceCombine(inputs, kMaxCount, type, op);
    for (int alignment = 0; alignment < 3; ++alignment) {
      Case c{type, op, sources, 1, 0, alignment, -1, false};
      loadSources(inputs, c);
      for (int t : targets) {
        for (size_t count : counts) {
          for (int inPlace : inPlacePositions(sources)) {
            for (bool streaming : {false, true}) {
              c = {type, op, sources, t, count, alignment, inPlace, streaming};
              check(c, inputs, expected);
              if (HasFatalFailure()) return;
            }
          }
        }
      }
      for (int s = 0; s < sources; ++s) {
        ASSERT_EQ(0, std::memcmp(inputs_[s].data(), inputs[s].data(), inputs[s].size()));
      }
    }
  }

 private:
  std::vector<Guarded> inputs_;
  std::vector<Guarded> outputs_;
};

TEST_P(CombineTest, EqualsReference) {
  const auto [target, type] = GetParam();
  const OnlyTarget only(target);
  for (HcclReduceOp op : allOps()) {
    if (!supported(type, op)) continue;
    for (int sources : {1, 2, 3, 5, 8, 9, 17}) {
      checkAll(type, op, sources, {1, 2, 3}, {0, 1, 7, 63, 64, 65, 1000, kMaxCount});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(CombineTest, ManySourcesAndTargets) {
  const auto [target, type] = GetParam();
  const OnlyTarget only(target);
  for (int sources : {1, 2, 9, 64}) {
    checkAll(type, HCCL_REDUCE_SUM, sources, {8, 9, 64}, {1, 65, kMaxCount});
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(AllTargets, CombineTest,
                         testing::Combine(testing::ValuesIn(usableTargets()),
                                          testing::ValuesIn(reducibleTypes())),
                         [](const auto& instance) {
                           return std::string(hwy::TargetName(std::get<0>(instance.param))) + "_" +
                                  typeName(std::get<1>(instance.param));
                         });

TEST(SupportedTest, IsTheMatrixOfTheProduct) {
  for (int type = 0; type <= 255; ++type) {
    const auto t = static_cast<HcclDataType>(type);
    const bool known =
        std::find(reducibleTypes().begin(), reducibleTypes().end(), t) != reducibleTypes().end();
    const bool product = known && t != HCCL_DATA_TYPE_INT16 && t != HCCL_DATA_TYPE_BFP16;
    EXPECT_EQ(known, supported(t, HCCL_REDUCE_SUM)) << type;
    EXPECT_EQ(known, supported(t, HCCL_REDUCE_MAX)) << type;
    EXPECT_EQ(known, supported(t, HCCL_REDUCE_MIN)) << type;
    EXPECT_EQ(product, supported(t, HCCL_REDUCE_PROD)) << type;
    EXPECT_FALSE(supported(t, HCCL_REDUCE_RESERVED)) << type;
  }
}

TEST(TypeSizeTest, BytesOfEveryType) {
  const int sizes[] = {1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16, 0, 1, 1, 1, 1, 0};
  for (int type = 0; type < 19; ++type) {
    EXPECT_EQ(sizes[type], typeSize(static_cast<HcclDataType>(type))) << type;
  }
  EXPECT_EQ(0u, typeSize(HCCL_DATA_TYPE_RESERVED));
}

TEST(CombineDeathTest, OutsideTheMatrixEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  int16_t a[2] = {1, 2}, b[2] = {3, 4};
  void* dst[] = {a};
  const void* src[] = {a, b};
  EXPECT_DEATH(combine(dst, 1, src, 2, 2, HCCL_DATA_TYPE_INT16, HCCL_REDUCE_PROD), "");
}

}  // namespace
}  // namespace hccl::reduce::test
