#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "src/topology/cluster.h"

namespace hccl {
namespace {

using ::testing::HasSubstr;

Cluster sound() {
  Cluster cluster;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    RankInfo info;
    info.rank = rank;
    info.serverId = rank < 2 ? "s0" : "s1";
    info.deviceId = rank % 2;
    info.deviceIps = {"10.0.0." + std::to_string(rank + 1)};
    info.superPodId = "pod";
    info.superDeviceId = std::to_string(rank);
    info.hostNic = true;
    cluster.ranks.push_back(info);
  }
  return cluster;
}

TEST(VerifyCluster, AcceptsASoundOne) {
  EXPECT_TRUE(verifyCluster(sound(), 4).isOk());
}

struct Case {
  const char* name;
  std::function<void(Cluster&)> spoil;
  uint32_t expected;
  int eiCode;
  int culprit;
  const char* text;
};

class VerifyClusterTest : public ::testing::TestWithParam<Case> {};

TEST_P(VerifyClusterTest, Refuses) {
  Cluster cluster = sound();
  GetParam().spoil(cluster);
  const Status status = verifyCluster(cluster, GetParam().expected);
  EXPECT_EQ(status.code(), HCCL_E_PARA);
  EXPECT_EQ(status.eiCode(), GetParam().eiCode);
  EXPECT_EQ(status.culprit(), GetParam().culprit);
  EXPECT_THAT(status.text(), HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, VerifyClusterTest,
    ::testing::Values(
        Case{"tooFew", [](Cluster& c) { c.ranks.pop_back(); }, 4, 15, 4,
             "rank num[4]is different with rank list size[3]"},
        Case{"sameRank", [](Cluster& c) { c.ranks[1].rank = 0; }, 4, 15, 0,
             "Rank ID 0 of device ID 1 on node s0 is the same as that of device ID 0 on node s0"},
        Case{"rankTooLarge", [](Cluster& c) { c.ranks[3].rank = 9; }, 4, 15, 9, "Rank ID 9"},
        Case{"unsorted", [](Cluster& c) { std::swap(c.ranks[0], c.ranks[1]); }, 4, 15, 0,
             "not sorted"},
        Case{"sameDeviceIp", [](Cluster& c) { c.ranks[3].deviceIps = {"10.0.0.1"}; }, 4, 15, 3,
             "The device IP address 10.0.0.1 of rank 3 on node s1 is the same as"},
        Case{"sameDevice", [](Cluster& c) { c.ranks[3].deviceId = 0; }, 4, 15, 3,
             "Rank 2 of node s1 has the same physical device ID 0 as the rank 3"},
        Case{"sameSuperDevice", [](Cluster& c) { c.ranks[3].superDeviceId = "0"; }, 4, 14, 3,
             "super_device_id"},
        Case{"badSuperDevice", [](Cluster& c) { c.ranks[3].superDeviceId = "x"; }, 4, 14, 3,
             "a valid non-negative integer"},
        Case{"nicDeploy", [](Cluster& c) { c.ranks[2].hostNic = false; }, 4, 15, 2,
             "The NIC deployment device of rank 2"}),
    [](const auto& row) { return row.param.name; });

TEST(VerifyCluster, OneServerMayRepeatADeviceIp) {
  Cluster cluster = sound();
  for (RankInfo& info : cluster.ranks) {
    info.serverId = "s0";
    info.deviceId = info.rank;
    info.deviceIps = {"10.0.0.1"};
  }
  EXPECT_TRUE(verifyCluster(cluster, 4).isOk());
}

}  // namespace
}  // namespace hccl
