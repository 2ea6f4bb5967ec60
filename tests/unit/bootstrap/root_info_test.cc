#include "src/bootstrap/root_info.h"

#include <cstring>
#include <fstream>

#include "tests/unit/bootstrap/rendezvous_fixture.h"

namespace hccl {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class RootInfo : public RootFixture {};

TEST_F(RootInfo, HandleLayoutIsThatOfHccl) {
  RootHandle handle;
  handle.address = {*IpAddress::parse("10.1.2.3"), 60001};
  handle.nicDeploy = NicDeploy::kDevice;
  handle.identifier = "10.1.2.3%eth0_60001_0_17";
  handle.rankId = 5;
  handle.secret.fill(0xAB);
  const HcclRootInfo info = encodeRootInfo(handle);
  EXPECT_STREQ(info.internal, "10.1.2.3");
  uint32_t port = 0, deploy = 0, rank = 0;
  std::memcpy(&port, info.internal + 64, 4);
  std::memcpy(&deploy, info.internal + 68, 4);
  std::memcpy(&rank, info.internal + 200, 4);
  EXPECT_EQ(port, 60001u);
  EXPECT_EQ(deploy, 1u);
  EXPECT_STREQ(info.internal + 72, "10.1.2.3%eth0_60001_0_17");
  EXPECT_EQ(rank, 5u);
  auto back = decodeRootInfo(info);
  ASSERT_TRUE(back.isOk());
  EXPECT_EQ(back->address, handle.address);
  EXPECT_EQ(back->secret, handle.secret);
  EXPECT_THAT(back->toString(), Not(HasSubstr("\xAB")));
}

TEST_F(RootInfo, GarbageIsRefused) {
  HcclRootInfo info{};
  EXPECT_EQ(decodeRootInfo(info).status().code(), HCCL_E_PARA);
  std::memset(info.internal, 0xFF, sizeof(info.internal));
  EXPECT_EQ(decodeRootInfo(info).status().code(), HCCL_E_PARA);
  RootHandle handle;
  handle.address = {*IpAddress::parse("10.1.2.3"), 1};
  handle.identifier = "x";
  info = encodeRootInfo(handle);
  ASSERT_TRUE(decodeRootInfo(info).isOk());
  HcclRootInfo endless = info;
  std::memset(endless.internal + 72, 'x', 128);
  EXPECT_EQ(decodeRootInfo(endless).status().code(), HCCL_E_PARA);
  HcclRootInfo noIp = info;
  std::strcpy(noIp.internal, "nowhere");
  EXPECT_EQ(decodeRootInfo(noIp).status().code(), HCCL_E_PARA);
}

TEST_F(RootInfo, OtherVersionIsNamed) {
  RootHandle handle;
  handle.address = {*IpAddress::parse("10.1.2.3"), 1};
  handle.identifier = "x";
  handle.version = kBootstrapVersion + 1;
  EXPECT_EQ(decodeRootInfo(encodeRootInfo(handle)).status().eiCode(), 8);
}

TEST_F(RootInfo, IdentifierNamesAddressPortDeviceAndTime) {
  RootOptions rootOptions;
  rootOptions.environment = &env;
  rootOptions.deviceId = 3;
  rootOptions.timeoutSeconds = 0.05;
  auto info = startRoot(rootOptions);
  ASSERT_TRUE(info.isOk());
  auto handle = decodeRootInfo(*info);
  ASSERT_TRUE(handle.isOk());
  EXPECT_THAT(handle->identifier, MatchesRegex("127\\.0\\.0\\.1%lo_[0-9]+_3_[0-9]+"));
  EXPECT_THAT(handle->identifier, HasSubstr("_" + std::to_string(handle->address.port) + "_"));
  EXPECT_TRUE(rootsEnd());  // nobody came
}

TEST_F(RootInfo, BasePortCountsTheDevice) {
  // A free port that the test owns for a moment tells a base.
  auto probe = listenTcp(IpAddress::loopback(AF_INET), 0);
  ASSERT_TRUE(probe.isOk());
  const uint16_t port = localAddress(probe->get())->port;
  probe->reset();
  env.hostPortRange.reset();
  env.ifBasePort = static_cast<uint16_t>(port - 2);
  RootOptions rootOptions;
  rootOptions.environment = &env;
  rootOptions.deviceId = 2;
  rootOptions.timeoutSeconds = 5;
  auto first = startRoot(rootOptions);
  ASSERT_TRUE(first.isOk()) << first.status().text();
  EXPECT_EQ(decodeRootInfo(*first)->address.port, port);
  // The second one finds the port taken.
  const Status status = startRoot(rootOptions).status();
  EXPECT_EQ(status.code(), HCCL_E_UNAVAIL);
  EXPECT_EQ(status.eiCode(), 19);
  EXPECT_THAT(status.text(), HasSubstr("The IP address 127.0.0.1 and port " + std::to_string(port) +
                                       " have already been bound."));
  // Let it end at once.
  auto handle = decodeRootInfo(*first);
  expectWhole(joinRoot(*handle, 1, 0, describe(0), "", Deadline::after(5)), 1);
  EXPECT_TRUE(rootsEnd());
}

TEST_F(RootInfo, DefaultAndRangePortsTakeTheFirstFreeOne) {
  env.hostPortRange.reset();
  const RootHandle first = startRootFor(0.3);
  const RootHandle second = startRootFor(0.3);
  EXPECT_GE(first.address.port, kDefaultBasePort);
  EXPECT_GT(second.address.port, first.address.port);
  EXPECT_LT(second.address.port, kDefaultBasePort + kBasePortCount);
  const std::string taken = std::to_string(first.address.port);
  env.hostPortRange = PortRanges::parse(taken);
  RootOptions rootOptions;
  rootOptions.environment = &env;
  EXPECT_EQ(startRoot(rootOptions).status().eiCode(), 19);
  EXPECT_TRUE(rootsEnd());
}

TEST_F(RootInfo, UnknownInterfaceIsAnEnvironmentError) {
  env.socketIfname = IfnameFilter::parse("=nosuchnic0");
  RootOptions rootOptions;
  rootOptions.environment = &env;
  EXPECT_EQ(startRoot(rootOptions).status().eiCode(), 1);
}

}  // namespace
}  // namespace hccl
