#include "src/base/interfaces.h"

#include <gtest/gtest.h>

#include "src/base/env.h"

namespace hccl {
namespace {

NetInterface nic(const char* name, std::initializer_list<const char*> addresses) {
  NetInterface result{name, {}};
  for (const char* text : addresses) {
    result.addresses.push_back(*IpAddress::parse(text));
    result.addresses.back().setIfname(name);
  }
  return result;
}

const std::vector<NetInterface>& host() {
  static const std::vector<NetInterface> kHost = {
      nic("docker0", {"172.17.0.1"}),
      nic("enp2", {"fe80::2", "2001:db8::2", "10.0.2.1"}),
      nic("enp1", {"fe80::1", "10.0.1.1", "10.0.1.2"}),
      nic("lo", {"127.0.0.1", "::1"}),
      nic("wlan0", {"2001:db8::9"}),
  };
  return kHost;
}

std::string chosen(const HostNicRequest& request, const std::vector<NetInterface>& nics = host()) {
  const auto result = selectHostNic(nics, request);
  return result ? result->ip.toStringWithIfname() : "error: " + result.status().text();
}

HostNicRequest byName(const char* filter, SocketFamily family = SocketFamily::kDefault) {
  HostNicRequest request;
  request.ifname = IfnameFilter::parse(filter);
  request.family = family;
  return request;
}

TEST(HostNic, DefaultIsTheFirstNormalInterfaceWithIpv4) {
  const auto result = selectHostNic(host(), {});
  ASSERT_TRUE(result.isOk());
  EXPECT_EQ(result->ip.toStringWithIfname(), "10.0.1.1%enp1");
  EXPECT_EQ(result->runLines,
            (std::vector<std::string>{"nic class[normal]: find nic[enp1] success.",
                                      "get host ip success. name[enp1] ip[10.0.1.1]"}));
}

TEST(HostNic, FamilyFirstThenTheOther) {
  HostNicRequest request;
  request.family = SocketFamily::kInet6;
  EXPECT_EQ(chosen(request), "2001:db8::2%enp2") << "a link-local address comes last";
  EXPECT_EQ(chosen(request, {nic("eth0", {"10.0.0.1"}), nic("lo", {"::1"})}), "10.0.0.1%eth0");
  EXPECT_EQ(chosen({}, {nic("eth0", {"2001:db8::1"}), nic("lo", {"127.0.0.1"})}),
            "2001:db8::1%eth0");
  EXPECT_EQ(chosen({}, {nic("eth0", {"fe80::1"}), nic("eth1", {"2001:db8::1"})}),
            "2001:db8::1%eth1");
}

TEST(HostNic, ClassOrder) {
  EXPECT_EQ(chosen({}, {nic("docker0", {"172.17.0.1"}), nic("lo", {"127.0.0.1"})}),
            "172.17.0.1%docker0");
  EXPECT_EQ(chosen({}, {nic("lo", {"127.0.0.1"})}), "127.0.0.1%lo");
  EXPECT_EQ(chosen({}, {}), "error: this host has no network interface with an address");
}

TEST(HostNic, IfIpWinsAndMustExist) {
  HostNicRequest request = byName("lo");
  request.ifIp = IpAddress::parse("10.0.1.2");
  const auto result = selectHostNic(host(), request);
  ASSERT_TRUE(result.isOk());
  EXPECT_EQ(result->ip.toStringWithIfname(), "10.0.1.2%enp1");
  EXPECT_EQ(result->runLines[0],
            "get host ip success by if IP of [IF IP]. name[enp1] ip[10.0.1.2]");
  request.ifIp = IpAddress::parse("10.0.1.2%enp2");
  EXPECT_EQ(chosen(request),
            "error: Value 10.0.1.2%enp2 for environment variable HCCL_IF_IP is invalid. Expected "
            "value: an ip address that exists in the local network interfaces list.");
  request.workerIp = IpAddress::parse("10.0.2.1");
  EXPECT_EQ(chosen(request), "10.0.2.1%enp2");
  request.workerIp = IpAddress::parse("9.9.9.9");
  EXPECT_NE(chosen(request).find("CM_WORKER_IP"), std::string::npos);
}

TEST(HostNic, IfnameFilters) {
  EXPECT_EQ(chosen(byName("enp")), "10.0.1.1%enp1");
  EXPECT_EQ(chosen(byName("enp2")), "10.0.2.1%enp2");
  EXPECT_EQ(chosen(byName("=enp2")), "10.0.2.1%enp2");
  EXPECT_EQ(chosen(byName("enp2", SocketFamily::kInet6)), "2001:db8::2%enp2");
  EXPECT_EQ(chosen(byName("wlan")), "2001:db8::9%wlan0");
  EXPECT_EQ(chosen(byName("=lo")), "127.0.0.1%lo");
  EXPECT_EQ(chosen(byName("^enp1")), "10.0.2.1%enp2");
  EXPECT_EQ(chosen(byName("^enp,wlan")), "172.17.0.1%docker0");
  EXPECT_EQ(chosen(byName("^=enp")), "10.0.1.1%enp1");
  EXPECT_EQ(chosen(byName("docker,lo")), "172.17.0.1%docker0");
}

TEST(HostNic, UnknownIfname) {
  const auto result = selectHostNic(host(), byName("=enp"));
  EXPECT_EQ(result.status().code(), HCCL_E_NOT_FOUND);
  EXPECT_EQ(result.status().eiCode(), 1);
  EXPECT_EQ(result.status().text(),
            "Value =enp for environment variable HCCL_SOCKET_IFNAME is invalid. Expected value: a "
            "valid network interface name (e.g., eth0, bound0) present on this host.");
}

TEST(Interfaces, ThisHostHasLoopback) {
  const auto interfaces = listInterfaces();
  ASSERT_TRUE(interfaces.isOk());
  const auto result = selectHostNic(*interfaces, byName("=lo"));
  ASSERT_TRUE(result.isOk()) << result.status().text();
  EXPECT_TRUE(result->ip.isLoopback());
}

}  // namespace
}  // namespace hccl
