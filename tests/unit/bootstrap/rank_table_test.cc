// Tables that are accepted, and what they mean.
#include "src/bootstrap/rank_table.h"

#include <gtest/gtest.h>

namespace hccl {
namespace {

RankTable accepted(std::string_view text, const std::string& identify = "0",
                   const RankTableOptions& options = {}) {
  auto table = parseRankTable(text, identify, options);
  EXPECT_TRUE(table.isOk()) << table.status().text();
  return table ? *table : RankTable{};
}

TEST(RankTable, Version10) {
  const RankTable table = accepted(R"({"status":"completed","version":"1.0","server_count":"2",
    "server_list":[
     {"server_id":"left","host_ip":"10.7.0.1","host_nic_ip":"reserve","device":[
       {"device_id":"1","device_ip":"10.8.0.2","device_port":"17001","rank_id":"1",
        "net_protocol":"tcp"},
       {"device_id":"0","device_ip":"10.8.0.1","device_port":"17000","host_port":"18000",
        "device_vnic_port":"19000","rank_id":"0","net_position":"host","net_protocol":"rdma"}]},
     {"server_id":"right","host_ip":"10.7.0.2","device":[
       {"device_id":"5","device_ip":"10.8.1.1","rank_id":"2","backup_device_ip":"10.9.1.1",
        "backup_device_port":"20000"},
       {"device_id":"1","device_ip":"10.8.1.2","rank_id":"3"}]}]})",
                                   "2");
  EXPECT_EQ(table.rank, 2u);
  const Cluster& cluster = table.cluster;
  ASSERT_EQ(cluster.size(), 4u);
  EXPECT_EQ(cluster.version, "1.0");
  EXPECT_EQ(cluster.ranks[0].serverId, "left");
  EXPECT_EQ(cluster.ranks[0].hostIp, "10.7.0.1");
  EXPECT_EQ(cluster.ranks[0].deviceIps, std::vector<std::string>{"10.8.0.1"});
  EXPECT_EQ(cluster.ranks[0].devicePort, 17000);
  EXPECT_EQ(cluster.ranks[0].hostPort, 18000);
  EXPECT_TRUE(cluster.ranks[0].hostNic);
  EXPECT_EQ(cluster.ranks[0].protocol, "rdma");
  EXPECT_FALSE(cluster.ranks[1].hostNic);
  EXPECT_EQ(cluster.ranks[1].protocol, "tcp");
  EXPECT_EQ(cluster.ranks[2].deviceId, 5u);
  EXPECT_EQ(cluster.ranks[2].devicePort, 0);
  EXPECT_EQ(cluster.servers().size(), 2u);
}

TEST(RankTable, OneServerNeedsNoAddress) {
  const RankTable table = accepted(R"({"status":"completed","version":"1.0","server_list":[
     {"server_id":"here","device":[{"device_id":"0","rank_id":"0"},
                                   {"device_id":"1","device_ip":"","rank_id":"1"}]}]})");
  EXPECT_EQ(table.cluster.size(), 2u);
  EXPECT_EQ(table.cluster.ranks[1].address(), "");
}

TEST(RankTable, RankZeroOnTheHostCardPutsAllThere) {
  const RankTable table = accepted(R"({"status":"completed","version":"1.0","server_list":[
     {"server_id":"a","host_ip":"10.1.1.1","device":[{"device_id":"0","rank_id":"0"}]},
     {"server_id":"b","host_ip":"10.1.1.2","device":[{"device_id":"0","rank_id":"1"}]}]})");
  EXPECT_TRUE(table.cluster.ranks[0].hostNic);
  EXPECT_TRUE(table.cluster.ranks[1].hostNic);
}

TEST(RankTable, DeviceIpList) {
  const RankTable table = accepted(R"({"status":"completed","version":"1.0","server_list":[
     {"server_id":"a","device":[{"device_id":"0","device_ip":"fd00::1,fd00::2","rank_id":"0"}]},
     {"server_id":"b","device":[{"device_id":"0","device_ip":"fd00::3,fd00::4","rank_id":"1"}]}]})");
  EXPECT_EQ(table.cluster.ranks[1].deviceIps, (std::vector<std::string>{"fd00::3", "fd00::4"}));
}

TEST(RankTable, Version12) {
  const std::string text = R"({"status":"completed","version":"1.2","server_list":[
     {"server_id":"a","device":[{"device_id":"0","rank_id":"0","super_device_id":"3"}]},
     {"server_id":"b","device":[{"device_id":"0","rank_id":"1","super_device_id":"4"}]}],
     "super_pod_list":[{"super_pod_id":"pod7","server_list":[{"server_id":"a"},
                                                              {"server_id":"b"}]}]})";
  const RankTable table = accepted(text, "1");
  EXPECT_EQ(table.cluster.ranks[1].superPodId, "pod7");
  EXPECT_EQ(table.cluster.ranks[1].superDeviceId, "4");
  EXPECT_EQ(table.cluster.superPods().size(), 1u);
  // With RoCE inside the pod an address is needed.
  RankTableOptions roce;
  roce.intraRoce = true;
  EXPECT_EQ(parseRankTable(text, "1", roce).status().eiCode(), 14);
}

TEST(RankTable, Version11) {
  const RankTable table = accepted(R"({"collective_id":"job","version":"1.1","mode":"tcp",
    "node_list":[
     {"node_addr":"10.1.1.1","ranks":[{"rank_id":"0"},{"rank_id":"1","port":"60008"},
        {"rank_id":"2","device_id":"6","rank_ip":"10.1.9.9"}]},
     {"node_addr":"10.1.1.2","ranks":[{"rank_id":"3","device_id":"-1"}]}]})",
                                   "3");
  EXPECT_TRUE(table.isHeterogeneous);
  const auto& ranks = table.cluster.ranks;
  ASSERT_EQ(ranks.size(), 4u);
  EXPECT_EQ(ranks[0].devicePort, 60009);  // 60008 is taken by rank 1
  EXPECT_EQ(ranks[1].devicePort, 60008);
  EXPECT_EQ(ranks[2].devicePort, 60010);
  EXPECT_EQ(ranks[3].devicePort, 60008);
  EXPECT_EQ(ranks[2].deviceId, 6u);
  EXPECT_EQ(ranks[2].hostIp, "10.1.9.9");
  EXPECT_EQ(ranks[3].hostIp, "10.1.1.2");
  EXPECT_EQ(ranks[3].serverId, "10.1.1.2");
  EXPECT_TRUE(ranks[0].hostNic);
  EXPECT_EQ(ranks[0].protocol, "tcp");
}

TEST(RankTable, Version11WithSuperPods) {
  const RankTable table = accepted(R"({"collective_id":"job","version":"1.1",
    "heterog_sub_version":"1.2","node_list":[{"node_addr":"10.1.1.1","ranks":[
      {"rank_id":"0","device_id":"0","port":"7000","sdid":"12","bind_device_id":"0"}]}]})");
  EXPECT_EQ(table.cluster.ranks[0].superDeviceId, "12");
  EXPECT_EQ(table.cluster.ranks[0].devicePort, 7000);
}

TEST(RankTable, Version20) {
  const RankTable table = accepted(R"({"version":"2.0","rank_count":2,"rank_list":[
    {"rank_id":1,"local_id":64,"replaced_local_id":3,"device_id":1,"level_list":[
      {"net_layer":0,"net_instance_id":"rack1","net_type":"TOPO_FILE_DESC","net_attr":"",
       "rank_addr_list":[{"addr_type":"EID","addr":"00aa","ports":["0/0"],"plane_id":"p"}]},
      {"net_layer":2,"net_instance_id":"pod","net_type":"CLOS","rank_addr_list":[
       {"addr_type":"IPV4","addr":"10.9.0.2","backup_addr":"10.9.1.2","ports":["d2h"]}]}]},
    {"rank_id":0,"local_id":0,"device_id":0,"device_port":17000,"host_port":18000,"level_list":[
      {"net_layer":0,"net_instance_id":"rack0","net_type":"TOPO_FILE_DESC","rank_addr_list":[
       {"addr_type":"IPV4","addr":"10.9.0.1"}]}]}]})",
                                   "1");
  const auto& ranks = table.cluster.ranks;
  EXPECT_EQ(ranks[1].serverId, "rack1");
  EXPECT_EQ(ranks[1].superPodId, "pod");
  EXPECT_EQ(ranks[1].deviceIps, std::vector<std::string>{"10.9.0.2"});
  ASSERT_EQ(ranks[1].layers.size(), 2u);
  EXPECT_EQ(ranks[1].layers[1].layer, 2u);
  EXPECT_EQ(ranks[0].devicePort, 17000);
  EXPECT_EQ(ranks[0].hostPort, 18000);
  EXPECT_EQ(ranks[0].superPodId, "");
}

constexpr const char* kCloud = R"({"status":"completed","group_count":"2","group_list":[
  {"group_name":"g0","instance_count":"2","device_count":"3","instance_list":[
    {"pod_name":"pod-a","server_id":"10.1.0.1","devices":[
      {"device_id":"4","device_ip":"10.2.0.1"},{"device_id":"5","device_ip":"10.2.0.2"}]},
    {"pod_name":"pod-b","server_id":"10.1.0.1","devices":[
      {"device_id":"6","device_ip":"10.2.0.3"}]}]},
  {"group_name":"g1","instance_count":"1","device_num":"1","instance_list":[
    {"pod_name":"pod-c","server_id":"10.1.0.2","devices":[
      {"device_id":"0","device_ip":"10.2.1.1"}]}]}]})";

TEST(RankTable, LegacyCloudByNumberAndByPod) {
  EXPECT_EQ(accepted(kCloud, "3").rank, 3u);
  EXPECT_EQ(accepted(kCloud, "pod-c").rank, 3u);
  EXPECT_EQ(accepted(kCloud, "pod-a").rank, 0u);
  RankTableOptions second;
  second.localDevice = 5;
  EXPECT_EQ(accepted(kCloud, "pod-a", second).rank, 1u);
  const RankTable table = accepted(kCloud);
  EXPECT_EQ(table.cluster.size(), 4u);
  EXPECT_EQ(table.cluster.servers().size(), 2u);
  EXPECT_EQ(table.cluster.ranks[2].deviceId, 6u);
}

TEST(RankTable, LegacyLab) {
  const RankTable table = accepted(R"({"status":"completed","deploy_mode":"lab",
    "group_count":"1","para_plane_nic_location":"device","para_plane_nic_num":"2",
    "para_plane_nic_name":["eth0","eth1"],"group_list":[
    {"group_name":"g","server_num":"1","device_num":"2","instance_count":"2","instance_list":[
      {"rank_id":"1","server_id":"10.1.0.1","devices":[{"device_id":"1","device_ip":"10.2.0.2"}]},
      {"rank_id":"0","server_id":"10.1.0.1","devices":[
        {"device_id":"0","device_ip":"10.2.0.1"}]}]}]})",
                                   "1");
  EXPECT_EQ(table.rank, 1u);
  EXPECT_EQ(table.cluster.ranks[0].deviceIps, std::vector<std::string>{"10.2.0.1"});
}

}  // namespace
}  // namespace hccl
