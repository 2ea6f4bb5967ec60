// Every rule that refuses a table: each case spoils one place of a sound table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/bootstrap/rank_table.h"

namespace hccl {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPlain =
    R"({"status":"completed","version":"1.0","server_count":"2","server_list":[
 {"server_id":"left","host_ip":"10.7.0.1","device":[
   {"device_id":"0","device_ip":"10.8.0.1","device_port":"17000","rank_id":"0"},
   {"device_id":"1","device_ip":"10.8.0.2","host_port":"18000","rank_id":"1"}]},
 {"server_id":"right","device":[
   {"device_id":"2","device_ip":"10.8.1.1","rank_id":"2"}]}]})";

constexpr const char* kPods = R"({"status":"completed","version":"1.2","server_list":[
 {"server_id":"a","device":[{"device_id":"0","rank_id":"0","super_device_id":"3"}]},
 {"server_id":"b","device":[{"device_id":"0","rank_id":"1","super_device_id":"4"}]}],
 "super_pod_list":[{"super_pod_id":"p","server_list":[{"server_id":"a"},{"server_id":"b"}]}]})";

constexpr const char* kMixed = R"({"collective_id":"job","version":"1.1","mode":"tcp",
 "node_list":[{"node_addr":"10.1.1.1","ranks":[{"rank_id":"0","device_id":"0","port":"7000"},
 {"rank_id":"1"}]},{"node_addr":"10.1.1.2","ranks":[{"rank_id":"2"}]}]})";

constexpr const char* kLayers = R"({"version":"2.0","rank_count":2,"rank_list":[
 {"rank_id":0,"local_id":0,"device_id":0,"device_port":17000,"level_list":[
  {"net_layer":0,"net_instance_id":"r0","net_type":"TOPO_FILE_DESC","rank_addr_list":[
   {"addr_type":"IPV4","addr":"10.9.0.1","ports":["0/0"]}]},
  {"net_layer":1,"net_instance_id":"pod","net_type":"CLOS"}]},
 {"rank_id":1,"local_id":1,"device_id":1,"level_list":[
  {"net_layer":0,"net_instance_id":"r1","net_type":"CLOS"}]}]})";

constexpr const char* kCloud = R"({"status":"completed","group_count":"1","group_list":[
 {"group_name":"g0","instance_count":"2","device_count":"2","instance_list":[
  {"pod_name":"pa","server_id":"s0","devices":[{"device_id":"4","device_ip":"10.2.0.1"}]},
  {"pod_name":"pb","server_id":"s0","devices":[{"device_id":"5","device_ip":"10.2.0.2"}]}]}]})";

constexpr const char* kLab = R"({"status":"completed","deploy_mode":"lab","group_count":"1",
 "para_plane_nic_location":"device","para_plane_nic_num":"1","para_plane_nic_name":["eth0"],
 "group_list":[{"group_name":"g","server_num":"2","device_num":"2","instance_count":"2",
 "instance_list":[{"rank_id":"0","server_id":"s0","devices":[{"device_id":"0"}]},
 {"rank_id":"1","server_id":"s1","devices":[{"device_id":"0"}]}]}]})";

struct Rule {
  const char* name;
  const char* table;
  const char* from;  // replaced once
  const char* to;
  HcclResult code;
  int eiCode;
  const char* text;
};

void PrintTo(const Rule& rule, std::ostream* out) {
  *out << rule.name;
}

class RankTableRule : public ::testing::TestWithParam<Rule> {};

TEST_P(RankTableRule, Refuses) {
  const Rule& rule = GetParam();
  std::string text = rule.table;
  ASSERT_TRUE(parseRankTable(text, "0").isOk()) << parseRankTable(text, "0").status().text();
  const size_t at = text.find(rule.from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(rule.from).size(), rule.to);
  const Status status = parseRankTable(text, "0").status();
  EXPECT_EQ(status.code(), rule.code) << status.text();
  EXPECT_EQ(status.eiCode(), rule.eiCode) << status.text();
  EXPECT_THAT(status.text(), HasSubstr(rule.text));
}

const auto kName = [](const auto& row) { return row.param.name; };

INSTANTIATE_TEST_SUITE_P(
    Common, RankTableRule,
    ::testing::Values(
        Rule{"notJson", kPlain, "}]}]}", "}]}]", HCCL_E_INTERNAL, 4, "JSON format is incorrect"},
        Rule{"noStatus", kPlain, "status", "statut", HCCL_E_NOT_FOUND, 17, "Config status"},
        Rule{"statusNumber", kPlain, R"("completed")", "1", HCCL_E_PARA, 17, "Config status"},
        Rule{"notCompleted", kPlain, "completed", "initializing", HCCL_E_AGAIN, 0, "status"},
        Rule{"version", kPlain, R"("1.0")", R"("1.7")", HCCL_E_NOT_SUPPORT, 14,
             "Value 1.7 for ranktable variable version is invalid. Expected value: a valid version "
             "number."},
        Rule{"versionNumber", kPlain, R"("1.0")", "1.0", HCCL_E_PARA, 17, "Config version"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Plain, RankTableRule,
    ::testing::Values(
        Rule{"countDiffers", kPlain, R"(count":"2")", R"(count":"3")", HCCL_E_PARA, 14,
             "Value 3 for ranktable variable server_count is invalid. Expected value: 2"},
        Rule{"countZero", kPlain, R"(count":"2")", R"(count":"0")", HCCL_E_PARA, 14,
             "is a positive integer"},
        Rule{"countText", kPlain, R"(count":"2")", R"(count":"two")", HCCL_E_PARA, 14,
             "is a positive integer"},
        Rule{"countNumber", kPlain, R"(count":"2")", R"(count":2)", HCCL_E_PARA, 17,
             "server_count"},
        Rule{"noServers", kPlain, "server_list", "server_lisp", HCCL_E_NOT_FOUND, 17,
             "Config server_list"},
        Rule{"serversNoArray", kPods, R"("server_list":[
 {"server_id":"a")",
             R"("server_list":3,"x":[
 {"server_id":"a")",
             HCCL_E_PARA, 17, "server_list"},
        Rule{"noServerId", kPlain, R"("server_id":"left",)", "", HCCL_E_NOT_FOUND, 17,
             "Config server_id"},
        Rule{"serverTwice", kPlain, "right", "left", HCCL_E_PARA, 14,
             "Value left for ranktable variable \"IP\" is repeate is invalid"},
        Rule{"serverEmpty", kPlain, "left", "", HCCL_E_PARA, 14, "server_id"},
        Rule{"serverLong", kPlain, "left",
             "0123456789012345678901234567890123456789012345678901234567890123456789", HCCL_E_PARA,
             14, "server_id"},
        Rule{"badHostIp", kPlain, "10.7.0.1", "10.7.0.256", HCCL_E_PARA, 14,
             "Value 10.7.0.256 for ranktable variable IP is invalid. Expected value: a valid IP "
             "address"},
        Rule{"noDevices", kPlain, R"("device":[
   {"device_id":"2","device_ip":"10.8.1.1","rank_id":"2"}])",
             R"("device":[])", HCCL_E_PARA, 14, "device"},
        Rule{"noDeviceId", kPlain, R"("device_id":"1",)", "", HCCL_E_NOT_FOUND, 17, "device_id"},
        Rule{"deviceIdText", kPlain, R"("device_id":"1")", R"("device_id":"one")", HCCL_E_PARA, 14,
             "device_id"},
        Rule{"deviceIdNegative", kPlain, R"("device_id":"1")", R"("device_id":"-1")", HCCL_E_PARA,
             14, "device_id"},
        Rule{"deviceIdLarge", kPlain, R"("device_id":"1")", R"("device_id":"1024")", HCCL_E_PARA,
             14, "device_id"},
        Rule{"deviceIdNumber", kPlain, R"("device_id":"1")", R"("device_id":1)", HCCL_E_PARA, 17,
             "device_id"},
        Rule{"deviceTwice", kPlain, R"("device_id":"1")", R"("device_id":"0")", HCCL_E_PARA, 14,
             "Device Id of server Id left is invalid. Expected value: is unique"},
        Rule{"rankText", kPlain, R"("rank_id":"2")", R"("rank_id":"x")", HCCL_E_PARA, 14,
             "is a non-negative integer."},
        Rule{"rankOverflow", kPlain, R"("rank_id":"2")", R"("rank_id":"4294967296")", HCCL_E_PARA,
             14, "rank_id"},
        Rule{"rankGap", kPlain, R"("rank_id":"2")", R"("rank_id":"3")", HCCL_E_UNAVAIL, 14,
             "Value 3 for ranktable variable rank_id"},
        Rule{"rankTwice", kPlain, R"("rank_id":"2")", R"("rank_id":"1")", HCCL_E_UNAVAIL, 14,
             "rank_id"},
        Rule{"ipTwice", kPlain, "10.8.1.1", "10.8.0.2", HCCL_E_PARA, 14, "\"IP\" is repeate"},
        Rule{"ipBad", kPlain, "10.8.1.1", "10.8.1", HCCL_E_PARA, 14, "a valid IP address"},
        Rule{"ipListBad", kPlain, "10.8.1.1", "10.8.1.1,", HCCL_E_PARA, 14, "a valid IP address"},
        Rule{"ipCounts", kPlain, "10.8.1.1", "10.8.1.1,10.8.2.1", HCCL_E_PARA, 14, "device_ip"},
        Rule{"ipFamily", kPlain, "10.8.1.1", "fd00::1", HCCL_E_PARA, 14, "one address family"},
        Rule{"ipMissing", kPlain, R"("device_ip":"10.8.1.1",)", "", HCCL_E_PARA, 14,
             "Value  for ranktable variable device_ip is invalid. Expected value: a valid IP "
             "address"},
        Rule{"portZero", kPlain, "17000", "0", HCCL_E_PARA, 14, "device_port"},
        Rule{"portLarge", kPlain, "17000", "65536", HCCL_E_PARA, 14, "device_port"},
        Rule{"portText", kPlain, "17000", "http", HCCL_E_PARA, 14, "device_port"},
        Rule{"hostPortZero", kPlain, "18000", "0", HCCL_E_PARA, 14, "host_port"},
        Rule{"vnicPort", kPlain, R"("rank_id":"2")", R"("rank_id":"2","device_vnic_port":"0")",
             HCCL_E_PARA, 14, "device_vnic_port"},
        Rule{"protocol", kPlain, R"("rank_id":"2")", R"("rank_id":"2","net_protocol":"udp")",
             HCCL_E_PARA, 14, "rdma or tcp"},
        Rule{"backupOwn", kPlain, R"("rank_id":"2")",
             R"("rank_id":"2","backup_device_ip":"10.8.1.1")", HCCL_E_PARA, 14, "backup_device_ip"},
        Rule{"backupBad", kPlain, R"("rank_id":"2")", R"("rank_id":"2","backup_device_ip":"no")",
             HCCL_E_PARA, 14, "a valid IP address"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Pods, RankTableRule,
    ::testing::Values(
        Rule{"podIdMissing", kPods, R"("super_pod_id":"p",)", "", HCCL_E_NOT_FOUND, 17,
             "super_pod_id"},
        Rule{"podIdEmpty", kPods, R"("super_pod_id":"p")", R"("super_pod_id":"")", HCCL_E_PARA, 14,
             "super_pod_id"},
        Rule{"serverWithoutPod", kPods, R"(,{"server_id":"b"}])", "]", HCCL_E_PARA, 14,
             "server_id"},
        Rule{"unknownServer", kPods, R"(,{"server_id":"b"}])", R"(,{"server_id":"b"},
             {"server_id":"z"}])",
             HCCL_E_PARA, 14, "super_pod_list"},
        Rule{"serverInTwoPods", kPods, R"({"server_id":"b"}]}])",
             R"({"server_id":"b"}]},{"super_pod_id":"q","server_list":[{"server_id":"a"}]}])",
             HCCL_E_PARA, 14, "one super-pod only"},
        Rule{"podTwice", kPods, R"(,{"server_id":"b"}]}])",
             R"(]},{"super_pod_id":"p","server_list":[{"server_id":"b"}]}])", HCCL_E_PARA, 14,
             "is repeate"},
        Rule{"deviceText", kPods, R"("super_device_id":"4")", R"("super_device_id":"4x")",
             HCCL_E_PARA, 14, "a valid non-negative integer"},
        Rule{"deviceTwice", kPods, R"("super_device_id":"4")", R"("super_device_id":"3")",
             HCCL_E_PARA, 14, "is unique in super-pod p"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Mixed, RankTableRule,
    ::testing::Values(
        Rule{"noCollective", kMixed, "collective_id", "collective", HCCL_E_NOT_FOUND, 17,
             "collective_id"},
        Rule{"mode", kMixed, R"("tcp")", R"("udp")", HCCL_E_PARA, 14, "mode"},
        Rule{"subVersion", kMixed, R"("mode":"tcp")", R"("heterog_sub_version":"1.3")", HCCL_E_PARA,
             14, "heterog_sub_version"},
        Rule{"subVersionKeys", kMixed, R"("mode":"tcp")", R"("heterog_sub_version":"1.2")",
             HCCL_E_NOT_FOUND, 17, "sdid"},
        Rule{"nodeAddr", kMixed, "10.1.1.2", "somewhere", HCCL_E_PARA, 14, "a valid IP address"},
        Rule{"nodeTwice", kMixed, "10.1.1.2", "10.1.1.1", HCCL_E_PARA, 14, "is repeate"},
        Rule{"rankIp", kMixed, R"({"rank_id":"2"})", R"({"rank_id":"2","rank_ip":"x"})",
             HCCL_E_PARA, 14, "a valid IP address"},
        Rule{"device", kMixed, R"("device_id":"0")", R"("device_id":"-2")", HCCL_E_PARA, 14,
             "device_id"},
        Rule{"portTwice", kMixed, R"({"rank_id":"1"})", R"({"rank_id":"1","port":"7000"})",
             HCCL_E_PARA, 14, "is unique in a node"},
        Rule{"statusIfGiven", kMixed, R"("mode":"tcp")", R"("status":"initializing")", HCCL_E_AGAIN,
             0, "status"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Layers, RankTableRule,
    ::testing::Values(
        Rule{"count", kLayers, R"("rank_count":2)", R"("rank_count":3)", HCCL_E_PARA, 14,
             "rankCount"},
        Rule{"countZero", kLayers, R"("rank_count":2)", R"("rank_count":0)", HCCL_E_PARA, 14,
             "rank_count"},
        Rule{"countText", kLayers, R"("rank_count":2)", R"("rank_count":"2")", HCCL_E_PARA, 17,
             "rank_count"},
        Rule{"rankRange", kLayers, R"("rank_id":1)", R"("rank_id":2)", HCCL_E_PARA, 14, "[0,2)"},
        Rule{"rankTwice", kLayers, R"("rank_id":1)", R"("rank_id":0)", HCCL_E_PARA, 14,
             "rank_id is not repeat"},
        Rule{"rankNegative", kLayers, R"("rank_id":1)", R"("rank_id":-1)", HCCL_E_PARA, 14,
             "rank_id"},
        Rule{"localId", kLayers, R"("local_id":1)", R"("local_id":65)", HCCL_E_PARA, 14,
             "local_id"},
        Rule{"backupWithoutId", kLayers, R"("local_id":1)", R"("local_id":64)", HCCL_E_NOT_FOUND,
             17, "replaced_local_id"},
        Rule{"deviceId", kLayers, R"("device_id":1)", R"("device_id":65)", HCCL_E_PARA, 14,
             "device_id"},
        Rule{"port", kLayers, "17000", "70000", HCCL_E_PARA, 14, "device_port"},
        Rule{"layerOrder", kLayers, R"("net_layer":1)", R"("net_layer":0)", HCCL_E_PARA, 14,
             "strictly increasing"},
        Rule{"layerRange", kLayers, R"("net_layer":1)", R"("net_layer":8)", HCCL_E_PARA, 14,
             "net_layer"},
        Rule{"instanceEmpty", kLayers, R"("net_instance_id":"pod")", R"("net_instance_id":"")",
             HCCL_E_PARA, 14, "net_instance_id"},
        Rule{"type", kLayers, R"("CLOS")", R"("STAR")", HCCL_E_PARA, 14, "net_type"},
        Rule{"addrType", kLayers, "IPV4", "IPX", HCCL_E_PARA, 14, "addr_type"},
        Rule{"addrEmpty", kLayers, "10.9.0.1", "", HCCL_E_PARA, 14,
             "addr is required and should not be empty"},
        Rule{"addrFamily", kLayers, "10.9.0.1", "fd00::1", HCCL_E_PARA, 14, "A ip address"},
        Rule{"ports", kLayers, R"(["0/0"])", "[7]", HCCL_E_PARA, 14, "ports"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Legacy, RankTableRule,
    ::testing::Values(Rule{"groupCount", kCloud, R"("group_count":"1")", R"("group_count":"2")",
                           HCCL_E_PARA, 14, "group_count"},
                      Rule{"noGroupCount", kCloud, R"("group_count":"1",)", "", HCCL_E_NOT_FOUND,
                           17, "group_count"},
                      Rule{"instanceCount", kCloud, R"("instance_count":"2")",
                           R"("instance_count":"1")", HCCL_E_PARA, 14, "instance_count"},
                      Rule{"deviceCount", kCloud, R"("device_count":"2")", R"("device_count":"3")",
                           HCCL_E_PARA, 14, "device_count"},
                      Rule{"podTwice", kCloud, R"("pb")", R"("pa")", HCCL_E_PARA, 14, "is repeate"},
                      Rule{"ipTwice", kCloud, "10.2.0.2", "10.2.0.1", HCCL_E_PARA, 14,
                           "is repeate"},
                      Rule{"deviceTwice", kCloud, R"("device_id":"5")", R"("device_id":"4")",
                           HCCL_E_PARA, 14, "Device Id of server Id s0"},
                      Rule{"nicLocation", kLab, R"("device","para)", R"("host","para)", HCCL_E_PARA,
                           14, "para_plane_nic_location"},
                      Rule{"nicCount", kLab, R"("para_plane_nic_num":"1")",
                           R"("para_plane_nic_num":"2")", HCCL_E_PARA, 14, "para_plane_nic_num"},
                      Rule{"serverNum", kLab, R"("server_num":"2")", R"("server_num":"1")",
                           HCCL_E_PARA, 14, "server_num"},
                      Rule{"labRank", kLab, R"("rank_id":"1")", R"("rank_id":"2")", HCCL_E_UNAVAIL,
                           14, "rank_id"},
                      Rule{"labSizes", kLab, R"("s1","devices":[{"device_id":"0"}]}])",
                           R"("s1","devices":[{"device_id":"0"},{"device_id":"1"}]}])", HCCL_E_PARA,
                           14, "device_num"}),
    kName);

TEST(RankTableOwnRank, MustBeDecimalAndInTheTable) {
  for (const char* identify : {"", "-1", "one", "0x1", "99999999999"}) {
    const Status status = parseRankTable(kPlain, identify).status();
    EXPECT_EQ(status.code(), HCCL_E_PARA) << identify;
    EXPECT_EQ(status.eiCode(), 3) << identify;
    EXPECT_THAT(status.text(), HasSubstr("RANK_ID"));
    EXPECT_THAT(status.text(), HasSubstr("a non-negative decimal number"));
  }
  const Status status = parseRankTable(kPlain, "3").status();
  EXPECT_EQ(status.code(), HCCL_E_PARA);
  EXPECT_EQ(status.eiCode(), 14);
}

TEST(RankTableOwnRank, CurrentDeviceMustBeTheEntrys) {
  RankTableOptions options;
  options.localDevice = 1;
  EXPECT_TRUE(parseRankTable(kPlain, "1", options).isOk());
  const Status status = parseRankTable(kPlain, "0", options).status();
  EXPECT_EQ(status.code(), HCCL_E_UNAVAIL);
  EXPECT_EQ(status.eiCode(), 14);
  EXPECT_THAT(status.text(), HasSubstr("devicePhyId"));
}

TEST(RankTableText, SurvivesEveryCut) {
  for (const std::string text : {kPlain, kPods, kMixed, kLayers, kCloud, kLab}) {
    for (size_t length = 0; length < text.size(); ++length) {
      EXPECT_FALSE(parseRankTable(text.substr(0, length), "0").isOk());
    }
  }
}

TEST(RankTableText, SurvivesEveryWrongType) {
  // Each value in turn becomes something of another type.
  for (const std::string text : {kPlain, kPods, kMixed, kLayers, kCloud, kLab}) {
    for (size_t colon = text.find(':'); colon != std::string::npos;
         colon = text.find(':', colon + 1)) {
      for (const char* other : {"null,\"x\":", "[[]],\"x\":", "{},\"x\":", "true,\"x\":",
                                "1e999,\"x\":", "-7,\"x\":"}) {
        std::string changed = text;
        changed.insert(colon + 1, other);
        (void)parseRankTable(changed, "0");
      }
    }
  }
  EXPECT_FALSE(parseRankTable(std::string(1 << 20, '['), "0").isOk());
  EXPECT_FALSE(parseRankTable("\xff\xfe{}", "0").isOk());
  EXPECT_FALSE(parseRankTable("[]", "0").isOk());
  EXPECT_FALSE(parseRankTable("{}", "0").isOk());
}

}  // namespace
}  // namespace hccl
