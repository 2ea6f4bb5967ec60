// The values that parsing gives, the order of rows, the run-log lines, files that variables name.
#include "src/base/env.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "src/base/log.h"
#include "tests/unit/base/fake_env.h"

namespace hccl {
namespace {

using test::allLines;
using test::hasLine;
using test::parse;
using test::Vars;

class TempDir {
 public:
  TempDir() {
    std::string pattern = ::testing::TempDir() + "hccl_env_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempDir() { (void)!::system(("rm -rf " + path_).c_str()); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name) << content;
    return path_ + "/" + name;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Environment, Defaults) {
  const auto env = parse({});
  ASSERT_TRUE(env.isOk());
  EXPECT_EQ(env->connectTimeoutSec, 120);
  EXPECT_EQ(env->linkTimeoutSec(), 140);
  EXPECT_EQ(env->execTimeoutSec, 1836);
  EXPECT_TRUE(env->intraPcie);
  EXPECT_FALSE(env->intraRoce);
  EXPECT_TRUE(env->whitelistDisabled);
  EXPECT_FALSE(env->ifBasePort.has_value());
  EXPECT_EQ(env->rdmaTrafficClass, 132u);
  EXPECT_EQ(env->rdmaServiceLevel, 4u);
  EXPECT_EQ(env->rdmaTimeout, 20u);
  EXPECT_EQ(env->rdmaRetryCount, 7u);
  EXPECT_EQ(env->bufferSizeBytes(), 200ULL << 20);
  EXPECT_EQ(env->deterministic, Deterministic::kOff);
  EXPECT_EQ(env->rdmaQpsPerConnection, 1u);
  EXPECT_EQ(env->multiQpThresholdKb, 512u);
  EXPECT_EQ(env->retryParams.holdTimeMs, 5000u);
  EXPECT_EQ(env->dfs.inconsistentCheck, InconsistentCheck::kFirst);
  EXPECT_FALSE(env->algo.isSet());
  EXPECT_TRUE(env->transports.automatic);
  EXPECT_EQ(env->hostWorkers, 1u);
  EXPECT_FALSE(env->hostSpinUs.has_value());
  EXPECT_FALSE(env->cm.isConfigured());
}

TEST(Environment, TypedValues) {
  const auto env = parse({{"HCCL_CONNECT_TIMEOUT", "7"},
                          {"HCCL_EXEC_TIMEOUT", "0.25"},
                          {"HCCL_IF_IP", "10.1.2.3%eth7"},
                          {"HCCL_SOCKET_FAMILY", "AF_INET6"},
                          {"HCCL_SOCKET_IFNAME", "^=docker0,lo"},
                          {"HCCL_IF_BASE_PORT", "17000"},
                          {"HCCL_RDMA_TC", "252"},
                          {"HCCL_BUFFSIZE", "3"},
                          {"HCCL_DETERMINISTIC", "STRICT"},
                          {"HCCL_OP_RETRY_ENABLE", "L0:0, L1:0, L2:1"},
                          {"HCCL_DEBUG_CONFIG", "^ALG"},
                          {"HCCL_HOST_SOCKET_PORT_RANGE", "100-110,7"},
                          {"HCCL_NPU_SOCKET_PORT_RANGE", "auto"},
                          {"HCCL_TRANSPORT", "tcp,shm"},
                          {"HCCL_HOST_SPIN_US", "0"},
                          {"CM_CHIEF_IP", "10.0.0.1"},
                          {"CM_CHIEF_PORT", "6000"},
                          {"CM_CHIEF_DEVICE", "2"},
                          {"CM_WORKER_SIZE", "16"}});
  ASSERT_TRUE(env.isOk()) << env.status().text();
  EXPECT_EQ(env->connectTimeoutSec, 7);
  EXPECT_DOUBLE_EQ(env->execTimeoutSec, 0.25);
  EXPECT_EQ(env->ifIp->toString(), "10.1.2.3");
  EXPECT_EQ(env->ifIp->ifname(), "eth7");
  EXPECT_EQ(env->socketFamily, SocketFamily::kInet6);
  EXPECT_TRUE(env->socketIfname->exclude);
  EXPECT_TRUE(env->socketIfname->exact);
  EXPECT_EQ(env->ifBasePort, 17000);
  EXPECT_EQ(env->rdmaTrafficClass, 252u);
  EXPECT_TRUE(env->bufferSizeSet);
  EXPECT_EQ(env->bufferSizeBytes(), 3ULL << 20);
  EXPECT_EQ(env->deterministic, Deterministic::kStrict);
  EXPECT_TRUE(env->deterministicSet);
  EXPECT_FALSE(env->retryEnable.server);
  EXPECT_TRUE(env->retryEnable.superPod);
  EXPECT_EQ(env->debugConfig, kDebugTask | kDebugResource | kDebugAivOpsException);
  EXPECT_EQ(env->hostPortRange->ranges, (std::vector<PortRange>{{100, 110}, {7, 7}}));
  EXPECT_TRUE(env->npuPortRange->automatic);
  EXPECT_TRUE(env->transports.shm && env->transports.tcp);
  EXPECT_FALSE(env->transports.rdma || env->transports.automatic);
  EXPECT_EQ(env->hostSpinUs, 0u);
  EXPECT_TRUE(env->cm.isConfigured());
  EXPECT_EQ(env->cm.workerSize, 16u);
}

TEST(Environment, IntraLinkCombinations) {
  struct {
    const char *pcie, *roce;
    int outcome;  // 0 PCIe, 1 RoCE, -1 illegal
  } const rows[] = {{nullptr, nullptr, 0}, {"1", nullptr, 0}, {"1", "0", 0},  {"0", "1", 1},
                    {nullptr, "1", 1},     {"0", "0", 0},     {"1", "1", -1}, {"0", nullptr, -1},
                    {nullptr, "0", -1},    {"", "1", 1},      {"0", "", -1}};
  for (const auto& row : rows) {
    Vars vars;
    if (row.pcie != nullptr) vars["HCCL_INTRA_PCIE_ENABLE"] = row.pcie;
    if (row.roce != nullptr) vars["HCCL_INTRA_ROCE_ENABLE"] = row.roce;
    const auto env = parse(vars);
    ASSERT_EQ(env.isOk(), row.outcome >= 0)
        << (row.pcie ? row.pcie : "-") << (row.roce ? row.roce : "-");
    if (!env.isOk()) continue;
    EXPECT_EQ(env->intraRoce, row.outcome == 1);
    EXPECT_EQ(env->intraPcie, row.outcome == 0);
  }
}

TEST(Environment, FirstIllegalRowOfTheTableWins) {
  const auto env = parse({{"HCCL_ALGO", "x"}, {"HCCL_RDMA_SL", "9"}, {"HCCL_BUFFSIZE", "0"}});
  ASSERT_FALSE(env.isOk());
  EXPECT_NE(env.status().text().find("HCCL_RDMA_SL"), std::string::npos);
}

TEST(Environment, RunLogLines) {
  std::vector<EnvLogLine> lines;
  ASSERT_TRUE(parse({}, &lines).isOk());
  for (const char* expected :
       {"[HCCL_ENV] HCCL_CONNECT_TIMEOUT set by default to [120]s",
        "[HCCL_ENV] HCCL_EXEC_TIMEOUT set by default to [1836]s",
        "[HCCL_ENV] HCCL_INTRA_PCIE_ENABLE set by default to [1], HCCL_INTRA_ROCE_ENABLE set by "
        "default to [0]",
        "[HCCL_ENV] HCCL_IF_IP is not set",
        "[HCCL_ENV] HCCL_SOCKET_FAMILY is not set and is used by default [AF_INET]",
        "[HCCL_ENV] HCCL_BUFFSIZE set by default to [200]M",
        "[HCCL_ENV] HCCL_DETERMINISTIC set by default to [false]",
        "[HCCL_ENV] HCCL_INTER_HCCS_DISABLE is not set, default value is FALSE.",
        "[HCCL_ENV] HCCL_RDMA_QPS_PER_CONNECTION is set to default value [1]",
        "[HCCL_ENV] HCCL_MULTI_QP_THRESHOLD is set to default value [512]KB",
        "[HCCL_ENV][ParseRetryEnable] HCCL_OP_RETRY_ENABLE is not set. The retryEnable of all "
        "levels "
        "is set to false.",
        "[HCCL_ENV] HCCL_OP_RETRY_PARAMS is not set, default value MaxCnt is [1], HoldTime is "
        "[5000]ms, IntervalTime is [1000]ms",
        "[HCCL_ENV] HCCL_DEBUG_CONFIG is not set, debugConfig set by default to 0x0",
        "[HCCL_ENV] HCCL_HOST_SOCKET_PORT_RANGE is not set. Multi-process will not be supported!",
        "[HCCL_ENV] HCCL_DFS_CONFIG is not set.", "[HCCL_ENV] HCCL_ALGO is not set"}) {
    EXPECT_TRUE(hasLine(lines, expected)) << expected << "\n" << allLines(lines);
  }
  lines.clear();
  ASSERT_TRUE(parse({{"HCCL_EXEC_TIMEOUT", "7.5"},
                     {"HCCL_DETERMINISTIC", "True"},
                     {"HCCL_HOST_SOCKET_PORT_RANGE", "5-9"},
                     {"HCCL_OP_RETRY_ENABLE", "L0:1,L1:1"},
                     {"HCCL_DFS_CONFIG", "cluster_heartbeat:off,inconsistent_check:on"},
                     {"HCCL_ALGO", "level0:NA; level1:ring"}},
                    &lines)
                  .isOk());
  for (const char* expected :
       {"[HCCL_ENV] HCCL_EXEC_TIMEOUT set by environment to [7.50]s",
        "[HCCL_ENV] HCCL_DETERMINISTIC set by environment to [True], hcclDeterministic[1]",
        "[HCCL_ENV] HCCL_HOST_SOCKET_PORT_RANGE is set to 5-9 as [5, 9].",
        "[HCCL_ENV] HCCL_OP_RETRY_ENABLE L0 is not supported, its value is ignored",
        "[HCCL_ENV][Parse] HCCL_DFS_CONFIG cluster_heartbeat set by environment to [0], "
        "stuck_detection set by environment to [1], connection_fault_detection_time[20]s "
        "inconsistentCheckSwitch[2],task_monitor_interval[0]ms",
        "hccl algo op allreduce config: config level0:NA, level1:ring, level2:, level3:"}) {
    EXPECT_TRUE(hasLine(lines, expected)) << expected << "\n" << allLines(lines);
  }
}

TEST(Environment, Whitelist) {
  const TempDir dir;
  const std::string file =
      dir.write("list.json", R"({"host_ip":["10.0.0.1","fe80::1"],"device_ip":["10.1.0.1"]})");
  const auto env = parse({{"HCCL_WHITELIST_DISABLE", "0"}, {"HCCL_WHITELIST_FILE", file}});
  ASSERT_TRUE(env.isOk()) << env.status().text();
  const auto list = loadWhitelist(env->whitelistFile);
  ASSERT_TRUE(list.isOk());
  EXPECT_TRUE(list->allowsHost(*IpAddress::parse("10.0.0.1")));
  EXPECT_TRUE(list->allowsHost(*IpAddress::parse("fe80::1%eth0")));
  EXPECT_FALSE(list->allowsHost(*IpAddress::parse("10.1.0.1")));
  EXPECT_TRUE(list->allowsDevice(*IpAddress::parse("10.1.0.1")));

  const auto missing =
      parse({{"HCCL_WHITELIST_DISABLE", "0"}, {"HCCL_WHITELIST_FILE", dir.path() + "/none.json"}});
  EXPECT_EQ(missing.status().text(),
            "Value " + dir.path() +
                "/none.json for environment variable HCCL_WHITELIST_FILE is "
                "invalid. Expected value: a valid file path.");
  for (const char* bad :
       {"[]", "{", R"({"host_ip":"10.0.0.1"})", R"({"host_ip":["x"]})", R"({"host_ip":[1]})"}) {
    EXPECT_EQ(loadWhitelist(dir.write("bad.json", bad)).status().eiCode(), 1) << bad;
  }
  EXPECT_TRUE(loadWhitelist(dir.write("empty.json", "{}")).isOk());
}

TEST(Environment, QueuePairPortFile) {
  const TempDir dir;
  dir.write("MultiQpSrcPort.cfg", "10.0.0.1,10.0.0.2=50100,50101\n0.0.0.0,10.0.0.2=50007\n");
  std::vector<EnvLogLine> lines;
  const auto env = parse({{"HCCL_RDMA_QP_PORT_CONFIG_PATH", dir.path()}}, &lines);
  ASSERT_TRUE(env.isOk()) << env.status().text();
  EXPECT_EQ(env->qpPorts.size(), 2u);
  EXPECT_TRUE(
      hasLine(lines, "[HCCL_ENV] MultiQpSrcPort: ipPair[10.0.0.1,10.0.0.2] -> ports[50100,50101]"));
  dir.write("MultiQpSrcPort.cfg", "10.0.0.1,10.0.0.2\n");
  EXPECT_EQ(parse({{"HCCL_RDMA_QP_PORT_CONFIG_PATH", dir.path()}}).status().eiCode(), 1);
}

// In a child of its own: environment() parses once per process.
TEST(EnvironmentDeathTest, ParsedOnceAndTheErrorStays) {
  const TempDir dir;
  const auto run = [&dir] {
    ::setenv("ASCEND_PROCESS_LOG_PATH", dir.path().c_str(), 1);
    ::setenv("HCCL_RDMA_SL", "8", 1);
    Status first[4];
    std::vector<std::thread> threads;
    for (Status& status : first)
      threads.emplace_back([&status] { status = environment().status(); });
    for (std::thread& thread : threads) thread.join();
    ::setenv("HCCL_RDMA_SL", "3", 1);
    const Status later = environment().status();
    for (const Status& status : first) {
      if (status.code() != HCCL_E_PARA || status.text() != later.text()) ::_exit(1);
    }
    ::_exit(later.eiCode() == 1 ? 0 : 2);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
  const std::string grep =
      "grep -qF '[InitGroupStage][EnvConfig]errNo[0x0000000005000001] In init env "
      "variable param, parse HCCL_RDMA_SL failed. errorno[1]' " +
      dir.path() + "/debug/plog/plog-*.log";
  EXPECT_EQ(::system(grep.c_str()), 0);
  EXPECT_EQ(::system(("grep -qF '[HCCL_ENV] HCCL_RDMA_TC set by default to [132]' " + dir.path() +
                      "/run/plog/plog-*.log")
                         .c_str()),
            0);
}

TEST(Environment, DocumentNamesEveryVariable) {
  const std::string text = environmentMarkdown();
  for (const EnvVariable& variable : environmentTable()) {
    EXPECT_NE(text.find("| `" + std::string(variable.name) + "` |"), std::string::npos);
  }
}

}  // namespace
}  // namespace hccl
