#include "src/topology/cluster.h"

#include <gtest/gtest.h>

namespace hccl {
namespace {

RankInfo rankOn(uint32_t rank, std::string server, uint32_t device, std::string pod = "") {
  RankInfo info;
  info.rank = rank;
  info.serverId = std::move(server);
  info.deviceId = device;
  info.superPodId = std::move(pod);
  return info;
}

// Two servers of two ranks and one of one, the last in another super-pod.
Cluster unequalCluster() {
  return {"1.2",
          {rankOn(0, "a", 0, "p"), rankOn(1, "a", 1, "p"), rankOn(2, "b", 0, "p"),
           rankOn(3, "b", 1, "p"), rankOn(4, "c", 0, "q")}};
}

TEST(Cluster, GroupsServersInRankOrder) {
  const auto servers = unequalCluster().servers();
  ASSERT_EQ(servers.size(), 3u);
  EXPECT_EQ(servers[1].id, "b");
  EXPECT_EQ(servers[1].ranks, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(servers[2].superPodId, "q");
}

TEST(Cluster, GroupsSuperPods) {
  const auto pods = unequalCluster().superPods();
  ASSERT_EQ(pods.size(), 2u);
  EXPECT_EQ(pods[0].servers, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(pods[0].ranks, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(pods[1].id, "q");
  Cluster plain{"1.0", {rankOn(0, "a", 0)}};
  EXPECT_TRUE(plain.superPods().empty());
}

TEST(Cluster, IndicesOfARank) {
  const Cluster cluster = unequalCluster();
  EXPECT_EQ(cluster.serverIndex(3), 1u);
  EXPECT_EQ(cluster.localIndex(3), 1u);
  EXPECT_EQ(cluster.localIndex(4), 0u);
  EXPECT_EQ(cluster.superPodIndex(4), 1u);
  EXPECT_EQ(cluster.superPodIndex(0), 0u);
}

TEST(Cluster, EqualAndContiguousServers) {
  EXPECT_FALSE(unequalCluster().hasEqualServers());
  EXPECT_TRUE(unequalCluster().hasContiguousServers());
  const Cluster mixed{"",
                      {rankOn(0, "a", 0), rankOn(1, "b", 0), rankOn(2, "a", 1), rankOn(3, "b", 1)}};
  EXPECT_TRUE(mixed.hasEqualServers());
  EXPECT_FALSE(mixed.hasContiguousServers());
  EXPECT_EQ(mixed.servers()[0].ranks, (std::vector<uint32_t>{0, 2}));
}

TEST(Cluster, SubsetRenumbers) {
  const std::vector<uint32_t> members{3, 0, 4};
  auto sub = unequalCluster().subset(members);
  ASSERT_TRUE(sub.isOk());
  ASSERT_EQ(sub->size(), 3u);
  EXPECT_EQ(sub->ranks[0].serverId, "b");
  EXPECT_EQ(sub->ranks[0].deviceId, 1u);
  EXPECT_EQ(sub->ranks[2].rank, 2u);
}

TEST(Cluster, SubsetRefusesBadMembers) {
  const Cluster cluster = unequalCluster();
  const std::vector<std::vector<uint32_t>> bad{{}, {5}, {1, 1}};
  for (const auto& members : bad) {
    EXPECT_EQ(cluster.subset(members).status().code(), HCCL_E_PARA);
  }
}

TEST(Cluster, AddressOfARank) {
  RankInfo info = rankOn(0, "10.1.1.1", 0);
  EXPECT_EQ(info.address(), "10.1.1.1");
  info.deviceIps = {"10.2.2.2", "10.3.3.3"};
  EXPECT_EQ(info.address(), "10.2.2.2");
  info.hostIp = "10.4.4.4";
  EXPECT_EQ(info.address(), "10.4.4.4");
  EXPECT_EQ(rankOn(0, "node-a", 0).address(), "");
}

TEST(Cluster, CanonicalTextSeparatesFieldsAndSkipsEndpoints) {
  Cluster a{"1.0", {rankOn(0, "ab", 0, "c")}};
  Cluster b{"1.0", {rankOn(0, "a", 0, "bc")}};
  EXPECT_NE(a.canonicalText(), b.canonicalText());
  EXPECT_NE(a.crc(), b.crc());
  Cluster c = a;
  c.ranks[0].endpoint = "somewhere";
  EXPECT_EQ(a.canonicalText(), c.canonicalText());
}

TEST(Cluster, CrcIsTheStandardOne) {
  EXPECT_EQ(crc32("123456789"), 0xCBF43926u);
  EXPECT_EQ(crc32(""), 0u);
}

}  // namespace
}  // namespace hccl
