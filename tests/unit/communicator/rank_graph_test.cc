#include "src/communicator/rank_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hccl {
namespace {

using ::testing::ElementsAre;
using Ranks = std::vector<uint32_t>;

// Two super-pods of two servers of two ranks.
Cluster sample(uint32_t pods = 2) {
  Cluster cluster;
  for (uint32_t rank = 0; rank < 4 * pods; ++rank) {
    RankInfo info;
    info.rank = rank;
    info.serverId = "server" + std::to_string(rank / 2);
    if (pods > 1) info.superPodId = "pod" + std::to_string(rank / 4);
    info.deviceId = rank % 2;
    info.hostIp = "10.0.0." + std::to_string(rank / 2 + 1);
    info.hostNic = true;
    cluster.ranks.push_back(info);
  }
  return cluster;
}

TEST(RankGraph, Layers) {
  EXPECT_THAT(graphLayers(sample()), ElementsAre(0, 1, 2));
  EXPECT_THAT(graphLayers(sample(1)), ElementsAre(0, 1));
  Cluster one = sample(1);
  one.ranks.resize(2);
  EXPECT_THAT(graphLayers(one), ElementsAre(0));
}

TEST(RankGraph, Instances) {
  const Cluster cluster = sample();
  EXPECT_THAT(*graphInstances(cluster, 0),
              ElementsAre(Ranks{0, 1}, Ranks{2, 3}, Ranks{4, 5}, Ranks{6, 7}));
  EXPECT_THAT(*graphInstances(cluster, 1), ElementsAre(Ranks{0, 1, 2, 3}, Ranks{4, 5, 6, 7}));
  EXPECT_THAT(*graphInstances(cluster, 2), ElementsAre(Ranks{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(graphInstances(cluster, 3).status().code(), HCCL_E_PARA);
  EXPECT_THAT(*graphInstanceOf(cluster, 1, 5), ElementsAre(4, 5, 6, 7));
}

TEST(RankGraph, ALinkIsInTheLowestLayerThatJoinsItsRanks) {
  const Cluster cluster = sample();
  const auto count = [&](uint32_t layer, uint32_t a, uint32_t b) {
    return graphLinks(cluster, layer, a, b)->size();
  };
  EXPECT_EQ(count(0, 0, 1), 1U);
  EXPECT_EQ(count(1, 0, 1), 0U);
  EXPECT_EQ(count(0, 0, 2), 0U);
  EXPECT_EQ(count(1, 0, 2), 1U);
  EXPECT_EQ(count(2, 0, 2), 0U);
  EXPECT_EQ(count(1, 0, 5), 0U);
  EXPECT_EQ(count(2, 0, 5), 1U);
  EXPECT_EQ(count(0, 3, 3), 0U);

  const auto links = graphLinks(cluster, 1, 0, 2);
  const CommLink& link = links->front();
  EXPECT_EQ(link.header.magicWord, COMM_LINK_MAGIC_WORD);
  EXPECT_EQ(link.linkAttr.linkProtocol, COMM_PROTOCOL_ROCE);
  EXPECT_EQ(link.dstEndpointDesc.commAddr.type, COMM_ADDR_TYPE_IP_V4);
  EXPECT_EQ(ntohl(link.dstEndpointDesc.commAddr.addr.s_addr), 0x0a000002U);
  EXPECT_EQ(link.dstEndpointDesc.loc.host.id, 1U);
  EXPECT_EQ(graphLinks(cluster, 0, 0, 1)->front().linkAttr.linkProtocol, COMM_PROTOCOL_PCIE);
}

TEST(RankGraph, ArraysLiveUntilTheNextCall) {
  const auto* communicator = reinterpret_cast<const Communicator*>(0x10);  // a key only
  const uint32_t* first = keepArray(communicator, GraphArray::kLayers, {1, 2, 3});
  const uint32_t* other = keepArray(communicator, GraphArray::kRanks, {7});
  EXPECT_EQ(first[2], 3U);
  EXPECT_EQ(other[0], 7U);
  EXPECT_EQ(keepArray(communicator, GraphArray::kLayers, {9})[0], 9U);
  EXPECT_EQ(other[0], 7U);
  forgetRankGraph(communicator);
}

}  // namespace
}  // namespace hccl
