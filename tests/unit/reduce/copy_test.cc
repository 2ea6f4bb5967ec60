// copy(): every length and alignment near the edges of the streaming path, with red zones.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/reduce/reference.h"

namespace hccl::reduce::test {
namespace {

class CopyTest : public testing::TestWithParam<int64_t> {
  OnlyTarget only_{GetParam()};
};

TEST_P(CopyTest, CopiesExactly) {
  constexpr size_t kZone = 128;
  std::mt19937_64 random(3);
  Bytes source(70000), target(source.size() + 2 * kZone + 128);
  for (uint8_t& b : source) b = static_cast<uint8_t>(random());
  const Bytes untouched(2 * kZone, 0x5A);
  for (bool streaming : {false, true}) {
    for (size_t bytes : {0, 1, 15, 63, 64, 65, 127, 255, 256, 257, 319, 320, 1000, 4096, 65537}) {
      for (size_t from : {0, 1, 8, 63}) {
        for (size_t to : {0, 1, 8, 33, 63}) {
          std::memset(target.data(), 0x5A, target.size());
          uint8_t* at = target.data() + kZone + to;
          copy(at, source.data() + from, bytes, streaming);
          ASSERT_EQ(0, std::memcmp(at, source.data() + from, bytes)) << bytes;
          ASSERT_EQ(0, std::memcmp(target.data(), untouched.data(), kZone + to)) << bytes;
          ASSERT_EQ(0, std::memcmp(at + bytes, untouched.data(), kZone)) << bytes;
        }
      }
    }
  }
}

TEST_P(CopyTest, EqualBuffersStayAsTheyAre) {
  Bytes buffer(1000, 7);
  copy(buffer.data(), buffer.data(), buffer.size(), true);
  copy(buffer.data(), buffer.data(), buffer.size(), false);
  EXPECT_EQ(Bytes(1000, 7), buffer);
}

INSTANTIATE_TEST_SUITE_P(AllTargets, CopyTest, testing::ValuesIn(usableTargets()),
                         [](const auto& instance) {
                           return std::string(hwy::TargetName(instance.param));
                         });

}  // namespace
}  // namespace hccl::reduce::test
