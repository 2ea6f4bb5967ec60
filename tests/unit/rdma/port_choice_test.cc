// Which device, port and address: all the reasons for and against.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rdma/fake_verbs.h"
#include "transport/rdma/port_choice.h"

namespace hccl::transport::rdma {
namespace {

using ::testing::HasSubstr;

IpAddress ip(const char* text) {
  return IpAddress::parse(text).value();
}
FakePort port(std::vector<FakeGid> gids) {
  FakePort made;
  made.gids = std::move(gids);
  return made;
}

TEST(PortChoiceTest, NoDevice) {
  FakeVerbs verbs;
  const auto choice = choosePort(&verbs, ip("10.0.0.1"));
  EXPECT_EQ(choice.status().text(), "no RDMA device");
  EXPECT_EQ(verbs.calls["devices"], 0) << "nothing may be opened";
}

TEST(PortChoiceTest, DeviceThatCannotBeOpened) {
  FakeVerbs verbs;
  verbs.addDevice("mlx5_0", {port({{"10.0.0.1"}})});
  verbs.failing["devices"] = EACCES;
  EXPECT_THAT(choosePort(&verbs, ip("10.0.0.1")).status().text(),
              ::testing::AllOf(HasSubstr("Permission denied"), HasSubstr("/dev/infiniband")));
}

TEST(PortChoiceTest, TheAddressDecidesAmongDevicesPortsAndGids) {
  FakeVerbs verbs;
  verbs.addDevice("a", {port({{"fe80::1"}, {"10.0.0.1"}})});
  FakeDevice* b = verbs.addDevice(
      "b", {port({{"10.0.1.1"}}),
            port({{"fe80::2"}, {"10.0.2.1", IBV_GID_TYPE_ROCE_V1}, {"10.0.2.1"}, {"fd00::2"}})});
  b->ports[1].mtu = IBV_MTU_2048;
  auto choice = choosePort(&verbs, ip("10.0.2.1"));
  ASSERT_TRUE(choice.isOk());
  EXPECT_EQ(choice->context, &b->context);
  EXPECT_EQ(choice->port, 2);
  EXPECT_EQ(choice->gidIndex, 2u) << "the RoCE v1 entry is of no use";
  EXPECT_EQ(mtuBytes(choice->mtu), 2048);
  EXPECT_TRUE(choice->exact);
  choice = choosePort(&verbs, ip("fd00::2"));
  ASSERT_TRUE(choice.isOk());
  EXPECT_EQ(choice->gidIndex, 3u);
}

TEST(PortChoiceTest, PortDown) {
  FakeVerbs verbs;
  verbs.addDevice("a", {port({{"10.0.0.1"}})})->ports[0].state = IBV_PORT_DOWN;
  verbs.addDevice("b", {port({{"10.0.1.1"}})});
  const auto choice = choosePort(&verbs, ip("10.0.0.1"));
  EXPECT_EQ(choice.status().code(), HCCL_E_NETWORK);
  EXPECT_THAT(choice.status().text(), HasSubstr("the network port is down: a port 1"));
  EXPECT_TRUE(choosePort(&verbs, ip("10.0.9.9")).isOk()) << "the other one serves";
}

TEST(PortChoiceTest, NoUsableGid) {
  FakeVerbs verbs;
  verbs.addDevice("a", {port({{"fe80::1"}, {"10.0.0.1", IBV_GID_TYPE_ROCE_V1}})});
  EXPECT_THAT(choosePort(&verbs, ip("10.0.0.1")).status().text(),
              HasSubstr("a port 1 has no RoCE v2 address (GID) other than link-local ones"));
}

TEST(PortChoiceTest, InfiniBandIsPassedOver) {
  FakeVerbs verbs;
  verbs.addDevice("ib", {port({{"10.0.0.1"}})})->ports[0].linkLayer = IBV_LINK_LAYER_INFINIBAND;
  EXPECT_THAT(choosePort(&verbs, ip("10.0.0.1")).status().text(),
              HasSubstr("not an Ethernet port"));
}

TEST(PortChoiceTest, WithoutTheAddressTheFamilyAndThenNearnessDecide) {
  FakeVerbs verbs;
  verbs.addDevice("v6", {port({{"fd00::1"}})})->nearness = 3;
  verbs.addDevice("unknown", {port({{"10.0.0.1"}})});
  verbs.addDevice("far", {port({{"10.0.1.1"}})})->nearness = 0;
  verbs.addDevice("near", {port({{"10.0.2.1"}})})->nearness = 1;
  verbs.addDevice("alike", {port({{"10.0.3.1"}})})->nearness = 1;
  const auto choice = choosePort(&verbs, ip("127.0.0.1"));
  ASSERT_TRUE(choice.isOk());
  EXPECT_EQ(choice->device, "near") << "the first of those that are equally near";
  EXPECT_FALSE(choice->exact);
  EXPECT_EQ(choosePort(&verbs, ip("::1"))->device, "v6");
}

TEST(PortChoiceTest, TheTopologyIsReadOnlyWhereItDecides) {
  FakeVerbs verbs;
  verbs.addDevice("near", {port({{"10.0.0.1"}})})->nearness = 2;
  EXPECT_EQ(choosePort(&verbs, ip("10.0.9.9"))->device, "near") << "the only one";
  verbs.addDevice("far", {port({{"10.0.1.1"}})})->nearness = 0;
  EXPECT_EQ(choosePort(&verbs, ip("10.0.1.1"))->device, "far") << "it has the address";
  EXPECT_EQ(verbs.calls["nearness"], 0);
}

TEST(PortChoiceTest, CheckPortTellsWhatBecameOfIt) {
  FakeVerbs verbs;
  FakeDevice* device = verbs.addDevice("a", {port({{"10.0.0.1"}})});
  const auto choice = choosePort(&verbs, ip("10.0.0.1"));
  EXPECT_TRUE(checkPort(&verbs, *choice).isOk());
  device->ports[0].gids[0].address = "10.0.0.2";
  EXPECT_THAT(checkPort(&verbs, *choice).text(), HasSubstr("has lost the address 10.0.0.1"));
  device->ports[0].state = IBV_PORT_DOWN;
  EXPECT_THAT(checkPort(&verbs, *choice).text(), HasSubstr("port is down"));
}

}  // namespace
}  // namespace hccl::transport::rdma
