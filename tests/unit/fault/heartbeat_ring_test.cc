#include "src/fault/heartbeat_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace hccl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(HeartbeatRing, OneServerIsARingByDevice) {
  const std::vector<uint32_t> server(4, 0);
  const std::vector<uint32_t> device{3, 2, 1, 0};
  EXPECT_THAT(heartbeatNeighbours(0, server, device), ElementsAre(1, 3));
  EXPECT_THAT(heartbeatNeighbours(2, server, device), ElementsAre(1, 3));
}

TEST(HeartbeatRing, TwoRanksHaveOneConnectionAndOneHasNone) {
  EXPECT_THAT(heartbeatNeighbours(1, {0, 0}, {0, 1}), ElementsAre(0));
  EXPECT_THAT(heartbeatNeighbours(0, {0}, {0}), IsEmpty());
}

TEST(HeartbeatRing, ServersAreJoinedPlaceByPlace) {
  const std::vector<uint32_t> server{0, 0, 1, 1, 2, 2};
  const std::vector<uint32_t> device{0, 1, 0, 1, 0, 1};
  EXPECT_THAT(heartbeatNeighbours(0, server, device), ElementsAre(1, 2, 4));
  EXPECT_THAT(heartbeatNeighbours(3, server, device), ElementsAre(1, 2, 5));
}

// Events reach everybody: following neighbours from rank 0 visits all, and neighbours are mutual.
TEST(HeartbeatRing, UnequalServersAreConnected) {
  const std::vector<uint32_t> server{0, 1, 1, 1, 2, 2};
  const std::vector<uint32_t> device{5, 0, 1, 2, 0, 1};
  std::set<uint32_t> seen{0};
  std::vector<uint32_t> next{0};
  while (!next.empty()) {
    const uint32_t rank = next.back();
    next.pop_back();
    for (const uint32_t other : heartbeatNeighbours(rank, server, device)) {
      EXPECT_THAT(heartbeatNeighbours(other, server, device), testing::Contains(rank));
      if (seen.insert(other).second) next.push_back(other);
    }
  }
  EXPECT_EQ(seen.size(), server.size());
}

}  // namespace
}  // namespace hccl
