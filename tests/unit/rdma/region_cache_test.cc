// RegionCache: registrations come and go with the memory, and are bounded.
#include "transport/rdma/region_cache.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/rdma/fake_verbs.h"

namespace hccl::transport::rdma {
namespace {

class RegionCacheTest : public ::testing::Test {
 protected:
  runtime::MemoryRange range(size_t index) { return {memory_.data() + index * 4096, 4096}; }
  std::vector<std::byte> memory_ = std::vector<std::byte>(10 * 4096);
  FakeVerbs verbs_;
  ibv_pd pd_{};
  RegionCache cache_{&verbs_, &pd_, "fake0", 3};
};

TEST_F(RegionCacheTest, ARangeIsRegisteredOnceUntilItLeaves) {
  const auto first = cache_.get(range(0));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ((*first)->addr, range(0).begin);
  EXPECT_EQ(cache_.get(range(0)), first);
  EXPECT_EQ(verbs_.calls["regMr"], 1);
  runtime::memoryLeaves({memory_.data() + 4095, 1});
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(verbs_.liveRegions(), 1u) << "somebody still holds it";
  EXPECT_NE(cache_.get(range(0)), first);
  EXPECT_EQ(verbs_.calls["regMr"], 2);
}

TEST_F(RegionCacheTest, OtherMemoryThatLeavesChangesNothing) {
  (void)cache_.get(range(1));
  runtime::memoryLeaves(range(0));
  runtime::memoryLeaves(range(2));
  EXPECT_EQ(cache_.size(), 1u);
}

TEST_F(RegionCacheTest, WhatIsLongestUnusedMakesRoom) {
  for (const size_t i : {0, 1, 2, 0, 3}) ASSERT_NE(cache_.get(range(i)), nullptr);
  EXPECT_EQ(cache_.size(), 3u);
  EXPECT_EQ(verbs_.calls["regMr"], 4);
  (void)cache_.get(range(0));
  EXPECT_EQ(verbs_.calls["regMr"], 4) << "kept";
  (void)cache_.get(range(1));
  EXPECT_EQ(verbs_.calls["regMr"], 5) << "had to go";
}

TEST_F(RegionCacheTest, WhatIsInUseStays) {
  const auto a = cache_.get(range(0)), b = cache_.get(range(1)), c = cache_.get(range(2));
  EXPECT_EQ(cache_.get(range(3)), nullptr);
  EXPECT_EQ(verbs_.liveRegions(), 3u);
}

TEST_F(RegionCacheTest, WhenTheLimitIsReachedIdleOnesGoFirst) {
  (void)cache_.get(range(0));
  const auto held = cache_.get(range(1));
  verbs_.failing["regMr"] = ENOMEM;
  EXPECT_EQ(cache_.get(range(2)), nullptr);
  EXPECT_EQ(cache_.size(), 1u) << "the one that is held";
  const int tries = verbs_.calls["regMr"];
  EXPECT_EQ(cache_.get(range(2)), nullptr);
  EXPECT_EQ(verbs_.calls["regMr"], tries) << "not asked again";
  verbs_.failing.clear();
  EXPECT_EQ(cache_.get(range(2)), nullptr) << "as long as nothing was given back";
  runtime::memoryLeaves(range(1));
  EXPECT_NE(cache_.get(range(2)), nullptr);
}

}  // namespace
}  // namespace hccl::transport::rdma
