#include "src/base/env_types.h"

#include <gtest/gtest.h>

namespace hccl {
namespace {

TEST(PortRanges, Contains) {
  const auto ranges = PortRanges::parse("50000-50010, 7");
  ASSERT_TRUE(ranges.has_value());
  EXPECT_TRUE(ranges->contains(50000));
  EXPECT_TRUE(ranges->contains(50010));
  EXPECT_TRUE(ranges->contains(7));
  EXPECT_FALSE(ranges->contains(50011));
  EXPECT_TRUE(PortRanges::parse("auto")->contains(1));
}

TEST(RetryEnable, LevelsAndTheIgnoredOne) {
  bool ignored = false;
  const auto retry = RetryEnable::parse("L0:1, L2:1", &ignored);
  ASSERT_TRUE(retry.has_value());
  EXPECT_TRUE(ignored);
  EXPECT_FALSE(retry->server);
  EXPECT_TRUE(retry->superPod);
  ASSERT_TRUE(RetryEnable::parse("L1:1", &ignored).has_value());
  EXPECT_FALSE(ignored);
}

TEST(RetryParams, AnyOrder) {
  const auto params = RetryParams::parse("IntervalTime:3,MaxCnt:2,HoldTime:4");
  ASSERT_TRUE(params.has_value());
  EXPECT_EQ(params->maxCount, 2u);
  EXPECT_EQ(params->holdTimeMs, 4u);
  EXPECT_EQ(params->intervalTimeMs, 3u);
}

TEST(ExecTimeout, Decimals) {
  EXPECT_DOUBLE_EQ(*parseExecTimeout("1.05"), 1.05);
  EXPECT_DOUBLE_EQ(*parseExecTimeout("1.5"), 1.5);
  EXPECT_DOUBLE_EQ(*parseExecTimeout("0"), 0);
  EXPECT_FALSE(parseExecTimeout("").has_value());
}

TEST(DfsConfig, Values) {
  std::vector<std::string> warnings;
  const auto dfs = DfsConfig::parse(
      "Cluster_Heartbeat:off, stuck_detection:off,inconsistent_check:off,"
      "connection_fault_detection_time:0,task_monitor_interval:50,task_exception:off",
      &warnings);
  ASSERT_TRUE(dfs.has_value());
  EXPECT_TRUE(warnings.empty());
  EXPECT_FALSE(dfs->clusterHeartbeat || dfs->stuckDetection || dfs->taskException);
  EXPECT_EQ(dfs->inconsistentCheck, InconsistentCheck::kOff);
  EXPECT_EQ(dfs->connectionFaultDetectionSec, 0u);
  EXPECT_EQ(dfs->taskMonitorIntervalMs, 50u);
}

TEST(DfsConfig, UnknownWordKeepsTheDefault) {
  std::vector<std::string> warnings;
  const auto dfs = DfsConfig::parse("stuck_detection:x,inconsistent_check:y", &warnings);
  ASSERT_TRUE(dfs.has_value());
  EXPECT_TRUE(dfs->stuckDetection);
  EXPECT_EQ(dfs->inconsistentCheck, InconsistentCheck::kFirst);
  EXPECT_EQ(warnings.size(), 2u);
}

TEST(QpPortConfig, ExactLineWinsOverAny) {
  const auto config = QpPortConfig::parse(
      "# ports\n\n10.0.0.1,10.0.0.2=50100,50101\r\n0.0.0.0,10.0.0.2=50007\n10.0.0.1,0.0.0.0=50008\n"
      "fe80::1,fe80::2=50009\n",
      "test");
  ASSERT_TRUE(config.isOk()) << config.status().text();
  const auto ip = [](const char* text) { return *IpAddress::parse(text); };
  using Ports = std::vector<uint16_t>;
  EXPECT_EQ(*config->find(ip("10.0.0.1"), ip("10.0.0.2")), (Ports{50100, 50101}));
  EXPECT_EQ(*config->find(ip("10.0.0.9"), ip("10.0.0.2")), (Ports{50007}));
  EXPECT_EQ(*config->find(ip("10.0.0.1"), ip("10.0.0.3")), (Ports{50008}));
  EXPECT_EQ(*config->find(ip("fe80::1"), ip("fe80::2")), (Ports{50009}));
  EXPECT_EQ(config->find(ip("10.0.0.9"), ip("10.0.0.3")), nullptr);
}

TEST(QpPortConfig, Illegal) {
  std::string tooMany = "1.1.1.1,2.2.2.2=50001";
  for (int port = 50002; port <= 50033; ++port) tooMany += "," + std::to_string(port);
  for (const std::string& text :
       {std::string("1.1.1.1=50005"), std::string("1.1.1.1,2.2.2.2"),
        std::string("a,2.2.2.2=50005"), std::string("1.1.1.1,2.2.2.2=49151"),
        std::string("1.1.1.1,2.2.2.2=65536"), std::string("1.1.1.1,2.2.2.2=50001,"),
        std::string("1.1.1.1,2.2.2.2=50001\n1.1.1.1,2.2.2.2=50002"), tooMany}) {
    EXPECT_EQ(QpPortConfig::parse(text, "test").status().eiCode(), 1) << text;
  }
  EXPECT_TRUE(QpPortConfig::parse(tooMany.substr(0, tooMany.rfind(',')), "test").isOk());
}

TEST(QpPortConfig, TooManyLines) {
  const std::string lines(131073, '\n');
  EXPECT_TRUE(QpPortConfig::parse(lines, "test").isOk()) << "blank lines hold nothing";
  EXPECT_FALSE(QpPortConfig::parse(lines + "1.1.1.1,2.2.2.2=50001", "test").isOk());
}

}  // namespace
}  // namespace hccl
