// The environment of a process: one table of variables, from which parsing, the [HCCL_ENV] run-log
// lines, the EI0001 texts and docs/environment.md come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/algo_config.h"
#include "src/base/algo_table.h"
#include "src/base/env_types.h"
#include "src/base/interfaces.h"
#include "src/base/status.h"

namespace hccl {

struct Environment {
  // Links and waiting.
  int connectTimeoutSec = 120;   // socket, bootstrap and link set-up
  double execTimeoutSec = 1836;  // wait for a peer inside an operation; 0: for ever
  bool intraPcie = true;
  bool intraRoce = false;
  // Bootstrap.
  bool whitelistDisabled = true;
  std::string whitelistFile;  // real path; load it with loadWhitelist()
  std::optional<IpAddress> ifIp;
  SocketFamily socketFamily = SocketFamily::kDefault;
  std::optional<IfnameFilter> socketIfname;
  std::optional<uint16_t> ifBasePort;  // unset: first free of kDefaultBasePort..+31
  std::optional<PortRanges> hostPortRange;
  std::optional<PortRanges> npuPortRange;
  std::string logicSuperPodId;
  CmEnvironment cm;
  // RDMA.
  uint32_t rdmaTrafficClass = 132;
  uint32_t rdmaServiceLevel = 4;
  uint32_t rdmaTimeout = 20;
  uint32_t rdmaRetryCount = 7;
  uint32_t rdmaQpsPerConnection = 1;
  uint32_t multiQpThresholdKb = 512;
  bool rdmaFastPost = false;  // HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT
  QpPortConfig qpPorts;
  uint32_t ubTimeout = 20, uboeTimeout = 20;  // recorded; nothing on a host uses them
  // Operations.
  uint32_t bufferSizeMb = 200;
  bool bufferSizeSet = false;
  Deterministic deterministic = Deterministic::kOff;
  bool deterministicSet = false;  // HcclSetConfig is ignored then
  OpExpansionMode opExpansionMode = OpExpansionMode::kHost;
  AlgoConfig algo;
  std::shared_ptr<const AlgoTable> algoTable;  // HCCL_ALGO_TABLE; nullptr: none
  double multiDimensionSplitRatio = 0.5;
  RetryEnable retryEnable;
  RetryParams retryParams;
  bool interHccsDisabled = false;
  // Diagnosis.
  bool diagnoseEnabled = false;
  bool entryLogEnabled = false;
  uint32_t debugConfig = 0;  // DebugModule bits
  DfsConfig dfs;
  // Host library only.
  TransportSet transports;  // HCCL_TRANSPORT
  uint32_t hostWorkers = 1;
  uint32_t hostDevices = 0;  // 0: number of physical cores
  uint32_t hostTcpStreams = 1;
  uint32_t readKb = 16;  // least plain memory that ranks of a server read from each other; 0: none
  uint32_t rdmaDirectKb = 128;               // least message written without copies; 0: none
  std::vector<std::string> rdmaFlagPolling;  // devices, or "all"
  std::optional<uint32_t> hostSpinUs;        // unset: the waiting policy decides
  uint32_t hostHeartbeatMs = 1000;
  uint32_t hostHeartbeatLostMs = 30000;
  uint32_t hostStuckMs = 0;  // 0: stuckMs() decides

  // Waiting time of a data link: the connect timeout and 20 s.
  int linkTimeoutSec() const { return connectTimeoutSec + 20; }
  // Milliseconds between two looks for operations that do not get on; 0: none.
  uint32_t stuckMs(double execTimeout) const {
    if (!dfs.stuckDetection) return 0;
    if (hostStuckMs != 0) return hostStuckMs;
    return static_cast<uint32_t>(std::max(execTimeout / 3, 60.0) * 1000);
  }
  uint64_t bufferSizeBytes() const { return static_cast<uint64_t>(bufferSizeMb) << 20; }
};

inline constexpr uint16_t kDefaultBasePort = 60000;
inline constexpr int kBasePortCount = 32;

// The environment of this process, parsed at the first call in table order. The first illegal value
// stops: that call and every later one return the same Status (HCCL_E_PARA, EI0001, final text).
// Thread-safe. The run-log lines are written once.
Result<const Environment*> environment();

// getenv-like: nullptr when the variable is unset.
using EnvLookup = std::function<const char*(const char* name)>;

struct EnvLogLine {
  bool warning = false;
  std::string text;
};
// Pure (but for files that variables name). `lines`, when given, receives the run-log lines.
Result<Environment> parseEnvironment(const EnvLookup& lookup,
                                     std::vector<EnvLogLine>* lines = nullptr);

// One row of the table.
struct EnvParser;  // src/base/env_parser.h
struct EnvVariable {
  std::string_view name;
  std::string_view type;   // "integer", "boolean", "list", ...
  std::string_view range;  // legal values, for people
  std::string_view defaultValue;
  std::string_view unit;    // "s", "M", "KB" or nothing
  std::string_view expect;  // the "Expected value" of EI0001
  std::string_view description;
  std::string_view notes;               // support notes, differences on a host
  bool (*parse)(EnvParser&) = nullptr;  // nullptr: read by another part (logs, programs)
};
std::span<const EnvVariable> environmentTable();
// docs/environment.md.
std::string environmentMarkdown();

// Status of EI0001: HCCL_E_PARA and the final text.
Status invalidEnvironment(std::string_view value, std::string_view name, std::string_view expect,
                          HcclResult code = HCCL_E_PARA);

}  // namespace hccl
