// The value types of the environment: port ranges, DFS keys, retry, queue-pair ports, white list.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/ip_address.h"
#include "src/base/status.h"

namespace hccl {

enum class Deterministic : uint32_t { kOff = 0, kOn = 1, kStrict = 2 };
enum class OpExpansionMode { kAiCpu, kAiCpuCacheDisable, kAiv, kHost, kHostTs, kCcuMs, kCcuSched };
std::string_view toString(OpExpansionMode mode);
std::optional<OpExpansionMode> parseOpExpansionMode(std::string_view text);

struct PortRange {
  uint16_t first = 0, last = 0;
  bool operator==(const PortRange&) const = default;
};
// "auto" or "p", "p1-p2", comma separated.
struct PortRanges {
  bool automatic = false;         // any free port
  std::vector<PortRange> ranges;  // in the user's order, without overlap
  bool contains(uint16_t port) const;
  // nullopt: port 0, above 65535, reversed, overlapping, empty item.
  static std::optional<PortRanges> parse(std::string_view text);
};

// HCCL_OP_RETRY_ENABLE, HcclCommConfig::hcclRetryEnable.
struct RetryEnable {
  bool server = false;    // L1
  bool superPod = false;  // L2
  // `ignoredL0` is set when the text carried the level that has no effect.
  static std::optional<RetryEnable> parse(std::string_view text, bool* ignoredL0 = nullptr);
};
// HCCL_OP_RETRY_PARAMS.
struct RetryParams {
  uint32_t maxCount = 1;
  uint32_t holdTimeMs = 5000;
  uint32_t intervalTimeMs = 1000;
  static std::optional<RetryParams> parse(std::string_view text);
};
// HCCL_EXEC_TIMEOUT, at most two decimals. nullopt: not a number or above 2147483647.
std::optional<double> parseExecTimeout(std::string_view text);

enum DebugModule : uint32_t {
  kDebugAlg = 1,
  kDebugTask = 2,
  kDebugResource = 4,
  kDebugAivOpsException = 8,
};

enum class InconsistentCheck { kOff, kFirst, kOn };
struct DfsConfig {
  bool clusterHeartbeat = true;
  bool stuckDetection = true;
  InconsistentCheck inconsistentCheck = InconsistentCheck::kFirst;
  uint32_t connectionFaultDetectionSec = 20;  // 0: no localisation
  uint32_t taskMonitorIntervalMs = 0;
  bool taskException = true;
  // nullopt: unknown key or number out of range; an unknown on/off value only adds to `warnings`.
  static std::optional<DfsConfig> parse(std::string_view text,
                                        std::vector<std::string>* warnings = nullptr);
};

struct TransportSet {
  bool shm = true, rdma = true, tcp = true;
  bool automatic = true;
  static std::optional<TransportSet> parse(std::string_view text);
};

// MultiQpSrcPort.cfg: UDP source ports of the queue pairs of an address pair.
class QpPortConfig {
 public:
  // Errors: EI0001.
  static Result<QpPortConfig> load(const std::string& directory);
  static Result<QpPortConfig> parse(std::string_view content, std::string_view origin);
  // Ports for the pair; 0.0.0.0 (or ::) on either side of a line stands for any address, an exact
  // line wins. nullptr when no line fits.
  const std::vector<uint16_t>* find(const IpAddress& source, const IpAddress& destination) const;
  size_t size() const { return pairs_.size(); }
  const std::map<std::pair<IpAddress, IpAddress>, std::vector<uint16_t>>& pairs() const {
    return pairs_;
  }

 private:
  std::map<std::pair<IpAddress, IpAddress>, std::vector<uint16_t>> pairs_;
};

// HCCL_WHITELIST_FILE: {"host_ip":[..],"device_ip":[..]}.
struct Whitelist {
  std::set<IpAddress> hostIps, deviceIps;
  bool allowsHost(const IpAddress& ip) const { return hostIps.count(ip) != 0; }
  bool allowsDevice(const IpAddress& ip) const { return deviceIps.count(ip) != 0; }
  static Result<Whitelist> parse(std::string_view json);
};
// Errors: EI0001 when the file cannot be read or is not such a list.
Result<Whitelist> loadWhitelist(const std::string& path);

// CM_*: cluster information by environment (TensorFlow). Fields are unset when the variable is.
struct CmEnvironment {
  std::optional<IpAddress> chiefIp, workerIp;
  std::optional<uint16_t> chiefPort;
  std::optional<uint32_t> chiefDevice, workerSize;
  bool isConfigured() const { return chiefIp && chiefPort && chiefDevice && workerSize; }
};

}  // namespace hccl
