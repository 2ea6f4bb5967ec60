#include "src/base/ip_address.h"

#include <gtest/gtest.h>

namespace hccl {
namespace {

TEST(IpAddress, ParseAndPrint) {
  struct {
    const char *text, *plain, *full;
    int family;
  } const rows[] = {{"10.0.0.1", "10.0.0.1", "10.0.0.1", AF_INET},
                    {"10.0.0.1%enp", "10.0.0.1", "10.0.0.1%enp", AF_INET},
                    {"::1", "::1", "::1", AF_INET6},
                    {"FE80:0:0::1%eth0", "fe80::1", "fe80::1%eth0", AF_INET6}};
  for (const auto& row : rows) {
    const auto ip = IpAddress::parse(row.text);
    ASSERT_TRUE(ip.has_value()) << row.text;
    EXPECT_EQ(ip->toString(), row.plain);
    EXPECT_EQ(ip->toStringWithIfname(), row.full);
    EXPECT_EQ(ip->family(), row.family);
  }
}

TEST(IpAddress, Illegal) {
  for (const char* text : {"", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4 ", "::g", "%eth0",
                           "1.2.3.4%", "1.2.3.4%a/b", "1.2.3.4%averyveryverylongname"}) {
    EXPECT_FALSE(IpAddress::parse(text).has_value()) << text;
  }
}

TEST(IpAddress, Classes) {
  EXPECT_TRUE(IpAddress::parse("127.9.0.1")->isLoopback());
  EXPECT_TRUE(IpAddress::parse("::1")->isLoopback());
  EXPECT_FALSE(IpAddress::parse("128.0.0.1")->isLoopback());
  EXPECT_TRUE(IpAddress::parse("169.254.1.1")->isLinkLocal());
  EXPECT_TRUE(IpAddress::parse("febf::1")->isLinkLocal());
  EXPECT_FALSE(IpAddress::parse("fec0::1")->isLinkLocal());
  EXPECT_TRUE(IpAddress::any(AF_INET6).isAny());
  EXPECT_FALSE(IpAddress().isAny());
}

TEST(IpAddress, InterfaceIsNoPartOfIdentity) {
  EXPECT_EQ(*IpAddress::parse("fe80::1%eth0"), *IpAddress::parse("fe80::1%eth1"));
  EXPECT_LT(*IpAddress::parse("10.0.0.1"), *IpAddress::parse("10.0.0.2"));
  EXPECT_LT(*IpAddress::parse("255.0.0.1"), *IpAddress::parse("::1"));
}

TEST(SocketAddress, RoundTrip) {
  for (const char* text : {"10.1.2.3", "2001:db8::7"}) {
    const SocketAddress address{*IpAddress::parse(text), 65535};
    sockaddr_storage storage;
    ASSERT_GT(address.toSockaddr(&storage), 0u);
    const auto back = SocketAddress::fromSockaddr(reinterpret_cast<sockaddr*>(&storage));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(*back, address);
  }
  sockaddr_storage storage;
  EXPECT_EQ(SocketAddress().toSockaddr(&storage), 0u);
  EXPECT_EQ((SocketAddress{*IpAddress::parse("10.0.0.1"), 7}.toString()), "10.0.0.1:7");
  EXPECT_EQ((SocketAddress{*IpAddress::parse("fe80::1%eth0"), 7}.toString()), "[fe80::1%eth0]:7");
}

TEST(SocketAddress, LinkLocalCarriesItsScope) {
  sockaddr_storage storage;
  const SocketAddress address{*IpAddress::parse("fe80::1%lo"), 1};
  ASSERT_GT(address.toSockaddr(&storage), 0u);
  EXPECT_EQ(reinterpret_cast<sockaddr_in6*>(&storage)->sin6_scope_id, address.ip.scopeId());
  EXPECT_NE(address.ip.scopeId(), 0u);
}

}  // namespace
}  // namespace hccl
