// Every variable against a table of legal, illegal, boundary and empty values.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/base/fake_env.h"

namespace hccl {
namespace {

using test::parse;
using test::Vars;

struct Case {
  const char* name;
  std::vector<const char*> legal;
  std::vector<const char*> illegal;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"HCCL_CONNECT_TIMEOUT",
       {"1", "119", "120", "7200", "0000000120"},
       {"0", "7201", "-1", "12a", " 120", "120s", "1.5", "00000000120"}},
      {"HCCL_EXEC_TIMEOUT",
       {"0", "1836", "2147483647", "0.5", "68.25", "2147483647.00"},
       {"2147483648", "2147483647.01", "-1", "1.234", "1.", ".5", "abc", "1e3"}},
      {"HCCL_INTRA_PCIE_ENABLE", {"1"}, {"0", "2", "x", "01"}},
      {"HCCL_INTRA_ROCE_ENABLE", {"1"}, {"0", "2", "x"}},
      {"HCCL_WHITELIST_DISABLE", {"1"}, {"2", "true"}},
      {"HCCL_WHITELIST_FILE", {"/nowhere/list.json"}, {"relative.json"}},
      {"HCCL_IF_IP",
       {"10.0.0.1", "10.0.0.1%eth0", "fe80::1", "fe80::1%eth0"},
       {"10.0.0", "10.0.0.256", "host", "10.0.0.1%", "fe80::1%", "1.2.3.4:5"}},
      {"HCCL_SOCKET_FAMILY", {"AF_INET", "AF_INET6"}, {"af_inet", "AF_UNIX", "4"}},
      {"HCCL_SOCKET_IFNAME",
       {"eth", "=eth0", "^docker", "^=docker0,lo", "eth0,eth1"},
       {",eth0", "eth0,", "=", "^", "^=", "eth0,,eth1", "=^eth0"}},
      {"HCCL_IF_BASE_PORT", {"1024", "65520", "60000"}, {"1023", "65521", "0", "abc", "-1"}},
      {"HCCL_RDMA_TC", {"0", "4", "132", "252"}, {"255", "256", "1", "130", "-4"}},
      {"HCCL_RDMA_SL", {"0", "7"}, {"8", "-1", "x"}},
      {"HCCL_RDMA_TIMEOUT", {"5", "20"}, {"4", "21", "0"}},
      {"HCCL_RDMA_RETRY_CNT", {"1", "7"}, {"0", "8"}},
      {"HCCL_BUFFSIZE", {"1", "200", "4294967295"}, {"0", "-1", "200M", "4294967296"}},
      {"HCCL_DETERMINISTIC", {"true", "FALSE", "Strict"}, {"1", "yes", "strictly"}},
      {"HCCL_DIAGNOSE_ENABLE", {"0", "1"}, {"2", "true"}},
      {"HCCL_ENTRY_LOG_ENABLE", {"0", "1"}, {"2", "on"}},
      {"HCCL_INTER_HCCS_DISABLE", {"TRUE", "false"}, {"0", "1"}},
      {"HCCL_OP_EXPANSION_MODE",
       {"AI_CPU", "AICPU_TS", "AICPU_CacheDisable", "AIV", "HOST", "HOST_TS", "CCU_MS",
        "CCU_SCHED"},
       {"host", "CPU", "AI_CPU "}},
      {"HCCL_RDMA_QPS_PER_CONNECTION", {"1", "32"}, {"0", "33"}},
      {"HCCL_MULTI_QP_THRESHOLD", {"1", "8192"}, {"0", "8193"}},
      {"HCCL_OP_RETRY_ENABLE",
       {"L1:0,L2:0", "L1:1", "L2:1,L1:0", "L0:0, L1:0, L2:0"},
       {"L1:2", "L3:0", "L1:0,L1:1", "L1", "1", "l1:0", "L1:0,"}},
      {"HCCL_OP_RETRY_PARAMS",
       {"MaxCnt:1,HoldTime:0,IntervalTime:60000", "MaxCnt:10, HoldTime:5000, IntervalTime:0"},
       {"MaxCnt:0,HoldTime:0,IntervalTime:0", "MaxCnt:11,HoldTime:0,IntervalTime:0",
        "MaxCnt:1,HoldTime:60001,IntervalTime:0", "MaxCnt:1,HoldTime:5", "MaxCnt:1",
        "MaxCnt:1,MaxCnt:1,HoldTime:1"}},
      {"HCCL_LOGIC_SUPERPOD_ID", {"pod 1", "x"}, {}},
      {"HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", {"true", "FALSE"}, {"1", "no"}},
      {"HCCL_RDMA_QP_PORT_CONFIG_PATH", {}, {"/nowhere/at/all"}},
      {"HCCL_ALGO_TABLE", {}, {"/nowhere/at/all.json"}},
      {"HCCL_DEBUG_CONFIG",
       {"ALG", "ALG,TASK,RESOURCE", "^ALG", "AIV_OPS_EXC"},
       {"alg", "ALG,", "^", "ALG;TASK", "ALL"}},
      {"HCCL_HOST_SOCKET_PORT_RANGE",
       {"auto", "1", "65535", "50000-50010", "1-2,4,6-9"},
       {"0", "65536", "0-10", "20-10", "1-5,5", "1-5,3-9", "1,", ",1", "a", "1-", "AUTO"}},
      {"HCCL_NPU_SOCKET_PORT_RANGE", {"auto", "16666"}, {"0", "1-2-3"}},
      {"HCCL_DFS_CONFIG",
       {"cluster_heartbeat:on", "cluster_heartbeat:OFF, stuck_detection:off",
        "inconsistent_check:first", "inconsistent_check:on", "connection_fault_detection_time:0",
        "connection_fault_detection_time:20", "connection_fault_detection_time:7200",
        "task_monitor_interval:7200000", "task_exception:off", "cluster_heartbeat:maybe",
        "cluster_heartbeat=on,stuck_detection=off"},
       {"heartbeat:on", "connection_fault_detection_time:19",
        "connection_fault_detection_time:7201", "task_monitor_interval:7200001",
        "task_monitor_interval:x", "cluster_heartbeat", "cluster_heartbeat:on,"}},
      {"HCCL_ALGO",
       {"level0:NA;level1:ring", "level0:NA; level1:H-D_R; level2:NHR", "level0:null",
        "allreduce=level0:NA;level1:NHR/others=level0:NA;level1:ring"},
       {"ring", "level1:Ring", "level4:ring", "level1:ring;level1:NB",
        "level0:NA;level1:ring/allreduce=level1:ring"}},
      {"HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO",
       {"0", "1", "0.5", "0.25", "1.00"},
       {"1.01", "2", "0.255", "-0.5", "half"}},
      {"HCCL_UB_TIMEOUT", {"0", "31"}, {"32", "-1"}},
      {"HCCL_UBOE_TIMEOUT", {"0", "31"}, {"32"}},
      {"CM_CHIEF_IP", {"10.0.0.1", "::1"}, {"chief"}},
      {"CM_CHIEF_PORT", {"0", "65520"}, {"65521", "x"}},
      {"CM_CHIEF_DEVICE", {"0", "1023"}, {"1024", "-1"}},
      {"CM_WORKER_SIZE", {"0", "32768"}, {"32769"}},
      {"CM_WORKER_IP", {"10.0.0.2"}, {"10.0.0.2.3"}},
      {"HCCL_TRANSPORT",
       {"auto", "shm", "tcp,shm", "shm,rdma,tcp"},
       {"ib", "shm,shm", "shm,", "SHM"}},
      {"HCCL_HOST_WORKERS", {"1", "64"}, {"0", "65"}},
      {"HCCL_HOST_DEVICES", {"1", "1024"}, {"0", "1025"}},
      {"HCCL_HOST_TCP_STREAMS", {"1", "16"}, {"0", "17"}},
      {"HCCL_HOST_READ_KB", {"0", "1048576"}, {"1048577", "-1"}},
      {"HCCL_HOST_RDMA_DIRECT_KB", {"0", "1048576"}, {"1048577", "-1"}},
      {"HCCL_HOST_RDMA_FLAG_POLLING",
       {"none", "all", "mlx5_0", "mlx5_0,rxe0"},
       {"mlx5_0,", ",", "mlx5 0", "a;b"}},
      {"HCCL_HOST_SPIN_US", {"0", "1000000"}, {"1000001", "-1"}},
      {"HCCL_HOST_HEARTBEAT_MS", {"10", "60000"}, {"9", "60001"}},
      {"HCCL_HOST_HEARTBEAT_LOST_MS", {"100", "600000"}, {"99", "600001"}},
      {"HCCL_HOST_STUCK_MS", {"0", "7200000"}, {"7200001", "-1"}},
  };
  return kCases;
}

const EnvVariable* find(std::string_view name) {
  for (const EnvVariable& variable : environmentTable()) {
    if (variable.name == name) return &variable;
  }
  return nullptr;
}

TEST(EnvRows, EveryParsedVariableHasACase) {
  std::set<std::string_view> tested, parsed;
  for (const Case& c : cases()) tested.insert(c.name);
  for (const EnvVariable& variable : environmentTable()) {
    EXPECT_FALSE(variable.description.empty()) << variable.name;
    EXPECT_FALSE(variable.range.empty()) << variable.name;
    if (variable.parse == nullptr) continue;
    EXPECT_FALSE(variable.expect.empty()) << variable.name;
    EXPECT_TRUE(parsed.insert(variable.name).second) << variable.name << " stands twice";
  }
  EXPECT_EQ(tested, parsed);
}

TEST(EnvRows, LegalValues) {
  for (const Case& c : cases()) {
    for (const char* value : c.legal) {
      const auto env = parse({{c.name, value}});
      EXPECT_TRUE(env.isOk()) << c.name << "=" << value << ": " << env.status().text();
    }
  }
}

TEST(EnvRows, EmptyCountsAsUnset) {
  for (const Case& c : cases()) {
    const auto env = parse({{c.name, ""}});
    EXPECT_TRUE(env.isOk()) << c.name << ": " << env.status().text();
  }
}

TEST(EnvRows, IllegalValuesGiveEi0001) {
  for (const Case& c : cases()) {
    for (const char* value : c.illegal) {
      const auto env = parse({{c.name, value}});
      ASSERT_FALSE(env.isOk()) << c.name << "=" << value;
      EXPECT_EQ(env.status().code(), HCCL_E_PARA);
      EXPECT_EQ(env.status().eiCode(), 1);
      EXPECT_NE(env.status().text().find(c.name), std::string::npos)
          << c.name << ": " << env.status().text();
    }
  }
}

// The exact text of one illegal value for each expect text of the table.
TEST(EnvRows, ExactTexts) {
  const auto text = [](const Vars& vars) { return parse(vars).status().text(); };
  for (const char* name : {"HCCL_RDMA_SL", "HCCL_RDMA_TC", "HCCL_RDMA_TIMEOUT", "HCCL_BUFFSIZE",
                           "HCCL_IF_BASE_PORT", "HCCL_DETERMINISTIC", "HCCL_ALGO",
                           "HCCL_DFS_CONFIG", "HCCL_OP_RETRY_PARAMS", "HCCL_SOCKET_FAMILY"}) {
    EXPECT_EQ(text({{name, "zzz"}}),
              "Value zzz for environment variable " + std::string(name) +
                  " is invalid. Expected value: " + std::string(find(name)->expect) + ".");
  }
  EXPECT_EQ(
      text({{"HCCL_RDMA_SL", "8"}}),
      "Value 8 for environment variable HCCL_RDMA_SL is invalid. Expected value: range[0, 7].");
  EXPECT_EQ(
      text({{"HCCL_CONNECT_TIMEOUT", "7201"}}),
      "Value 7201 for environment variable HCCL_CONNECT_TIMEOUT is invalid. Expected value: a "
      "number greater than or equal to 120s and less than or equal to 7200s.");
  EXPECT_EQ(
      text({{"HCCL_EXEC_TIMEOUT", "abc"}}),
      "Value abc for environment variable HCCL_EXEC_TIMEOUT is invalid. Expected value: a valid "
      "number in the specified range.");
  EXPECT_EQ(
      text({{"HCCL_EXEC_TIMEOUT", "2147483648"}}),
      "Value 2147483648 for environment variable HCCL_EXEC_TIMEOUT is invalid. Expected value: "
      "a number greater than or equal to 0s and less than or equal to 2147483647s.");
  EXPECT_EQ(
      text({{"HCCL_INTRA_PCIE_ENABLE", "0"}}),
      "Value 0 for environment variable HCCL_INTRA_PCIE_ENABLE is invalid. Expected value: 0 or "
      "1 (but not both 1).");
  EXPECT_EQ(text({{"HCCL_WHITELIST_DISABLE", "0"}}),
            "Value EmptyString for environment variable HCCL_WHITELIST_FILE is invalid. Expected "
            "value: a valid file path.");
}

TEST(EnvRows, LengthLimits) {
  EXPECT_TRUE(parse({{"HCCL_LOGIC_SUPERPOD_ID", std::string(127, 'p')}}).isOk());
  EXPECT_FALSE(parse({{"HCCL_LOGIC_SUPERPOD_ID", std::string(128, 'p')}}).isOk());
  EXPECT_TRUE(parse({{"HCCL_WHITELIST_FILE", "/" + std::string(4094, 'p')}}).isOk());
  EXPECT_FALSE(parse({{"HCCL_WHITELIST_FILE", "/" + std::string(4095, 'p')}}).isOk());
}

}  // namespace
}  // namespace hccl
