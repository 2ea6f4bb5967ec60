#include "src/communicator/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>

#include "hccl/hccl_comm.h"
#include "src/base/log.h"
#include "src/communicator/registry.h"
#include "src/fault/ei_errors.h"

namespace hccl {
namespace {

constexpr uint32_t kNotSet = 0xffffffff;
// Part of what ranks agree on: libraries of different versions lower plans differently.
constexpr const char* kLibraryVersion = "0.1";

std::atomic<int32_t> chosenDeterministic{-1};  // -1: HcclSetConfig was not called

// The first bytes of HcclCommConfig, as HcclCommConfigInit writes them.
struct RawHeader {
  size_t size;
  uint32_t magic;
  uint32_t version;
  uint64_t reserved;
};
static_assert(sizeof(RawHeader) == HCCL_COMM_CONFIG_INFO_BYTES);

Status invalid(const char* op, std::string_view value, std::string_view field,
               std::string_view expected) {
  return argumentError(HCCL_E_PARA, op, value, field, expected);
}

Status invalid(const char* op, uint64_t value, std::string_view field, std::string_view expected) {
  return invalid(op, std::to_string(value), field, expected);
}

// The text of a field of fixed size; HCCL_E_PARA when it has no end.
template <size_t n>
Result<std::string> text(const char* op, const char (&field)[n], std::string_view name) {
  const size_t length = ::strnlen(field, n);
  if (length == n) {
    return invalid(op, std::string_view(field, std::min<size_t>(n, 32)), name,
                   fmt::format("a text of at most {} characters", n - 1));
  }
  return std::string(field, length);
}

CommSettings fromEnvironment(const Environment& env) {
  CommSettings s;
  s.bufferBytes = env.bufferSizeBytes();
  s.deterministic = static_cast<uint32_t>(processDeterministic(env));
  s.opExpansionMode = 0;
  s.rdmaTrafficClass = env.rdmaTrafficClass;
  s.rdmaServiceLevel = env.rdmaServiceLevel;
  s.execTimeoutSec = env.execTimeoutSec;
  s.algo = env.algo;
  s.algoTable = env.algoTable;
  s.retryEnable = env.retryEnable;
  s.retryParams = env.retryParams;
  return s;
}

// Fields of version 1 to 4.
Status applyBasics(const HcclCommConfig& c, uint32_t version, const char* op, CommSettings& s) {
  if (c.hcclBufferSize == 0) {
    return invalid(op, 0, "hcclBufferSize", "should be equal to or greater than 1(MB).");
  }
  if (c.hcclBufferSize != kNotSet) s.bufferBytes = static_cast<uint64_t>(c.hcclBufferSize) << 20;
  if (c.hcclDeterministic != kNotSet) {
    if (c.hcclDeterministic > 2) {
      return invalid(op, c.hcclDeterministic, "hcclDeterministic", "0 (off), 1 (on) or 2 (strict)");
    }
    s.deterministic = c.hcclDeterministic;
    s.deterministicFromConfig = true;
  }
  if (version >= 2) {
    HCCL_ASSIGN_OR_RETURN(s.name, text(op, c.hcclCommName, "hcclCommName"));
  }
  if (version >= 3) {
    HCCL_ASSIGN_OR_RETURN(const std::string udi, text(op, c.hcclUdi, "hcclUdi"));
    if (!udi.empty()) s.userInformation = udi;
  }
  if (version >= 4) {
    if (c.hcclOpExpansionMode <= 6) {
      s.opExpansionMode = c.hcclOpExpansionMode;
    } else if (c.hcclOpExpansionMode != kNotSet) {
      HCCL_WARNING("hcclOpExpansionMode[{}] is not known, the environment's mode stays",
                   c.hcclOpExpansionMode);
    }
  }
  return Status::ok();
}

// Fields of version 5 to 7.
Status applyNetwork(const HcclCommConfig& c, uint32_t version, const char* op, CommSettings& s) {
  if (version >= 5) {
    if (c.hcclRdmaTrafficClass != kNotSet) {
      if (c.hcclRdmaTrafficClass > 255 || c.hcclRdmaTrafficClass % 4 != 0) {
        return invalid(op, c.hcclRdmaTrafficClass, "hcclRdmaTrafficClass",
                       "range[0, 255], Must be a multiple of 4");
      }
      s.rdmaTrafficClass = c.hcclRdmaTrafficClass;
    }
    if (c.hcclRdmaServiceLevel != kNotSet) {
      if (c.hcclRdmaServiceLevel > 7) {
        return invalid(op, c.hcclRdmaServiceLevel, "hcclRdmaServiceLevel", "range[0, 7]");
      }
      s.rdmaServiceLevel = c.hcclRdmaServiceLevel;
    }
  }
  if (version >= 6) {
    s.worldRank = c.hcclWorldRankID;
    s.jobId = c.hcclJobID;
  }
  if (version >= 7) {
    if (c.aclGraphZeroCopyEnable > 1) {
      return invalid(op, c.aclGraphZeroCopyEnable, "aclGraphZeroCopyEnable", "0 or 1");
    }
    s.aclGraphZeroCopy = c.aclGraphZeroCopyEnable == 1;
  }
  return Status::ok();
}

// Fields of version 8.
Status applyOperation(const HcclCommConfig& c, const char* op, CommSettings& s) {
  if (c.hcclExecTimeOut >= 0) {
    s.execTimeoutSec = c.hcclExecTimeOut;
  } else if (c.hcclExecTimeOut != HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET) {
    HCCL_WARNING("hcclExecTimeOut[{}] is out of range [0, 2147483647], {} s stays",
                 c.hcclExecTimeOut, s.execTimeoutSec);
  }
  HCCL_ASSIGN_OR_RETURN(const std::string algo, text(op, c.hcclAlgo, "hcclAlgo"));
  if (!algo.empty()) {
    std::vector<std::string> warnings;
    auto parsed = parseAlgoConfig(algo, &warnings);
    if (!parsed) {
      return invalid(op, algo, "hcclAlgo",
                     "level0:NA;level1:<algo> or "
                     "<op0>=level0:NA;level1:<algo0>/<op1>=level0:NA;level1:<algo1>");
    }
    for (const std::string& warning : warnings) HCCL_WARNING("hcclAlgo: {}", warning);
    s.algo = std::move(*parsed);
  }
  HCCL_ASSIGN_OR_RETURN(const std::string retry, text(op, c.hcclRetryEnable, "hcclRetryEnable"));
  if (!retry.empty()) {
    const auto parsed = RetryEnable::parse(retry);
    if (!parsed) return invalid(op, retry, "hcclRetryEnable", "L1:<0 or 1>,L2:<0 or 1>");
    s.retryEnable = *parsed;
  }
  HCCL_ASSIGN_OR_RETURN(const std::string params, text(op, c.hcclRetryParams, "hcclRetryParams"));
  if (!params.empty()) {
    const auto parsed = RetryParams::parse(params);
    if (!parsed) {
      return invalid(op, params, "hcclRetryParams",
                     "MaxCnt:cnt,HoldTime:time,IntervalTime:time. cnt range is [1, 10], time range "
                     "is [0, 60000]");
    }
    s.retryParams = *parsed;
  }
  return Status::ok();
}

}  // namespace

Result<LoadedConfig> loadConfig(const HcclCommConfig* config, const Environment& environment,
                                const char* op) {
  LoadedConfig loaded;
  loaded.settings = fromEnvironment(environment);
  if (config == nullptr) return loaded;
  RawHeader raw;
  std::memcpy(&raw, config->reserved, sizeof(raw));
  if (raw.magic != HCCL_COMM_CONFIG_MAGIC_WORD) {
    return invalid(
        op, fmt::format("0x{:08x}", raw.magic), "magic word",
        fmt::format("0x{:08x}, as HcclCommConfigInit writes it", HCCL_COMM_CONFIG_MAGIC_WORD));
  }
  if (raw.version != HCCL_COMM_CONFIG_VERSION) {
    HCCL_WARNING("the configuration has version {}, this library has version {}", raw.version,
                 HCCL_COMM_CONFIG_VERSION);
  }
  loaded.header = ConfigHeader{raw.size, raw.version};
  // Fields behind the caller's size stay as not set.
  HcclCommConfig own;
  HcclCommConfigInit(&own);
  std::memcpy(static_cast<void*>(&own), config,
              std::clamp<size_t>(raw.size, sizeof(raw), sizeof(own)));
  const uint32_t version = raw.version;
  CommSettings& s = loaded.settings;
  HCCL_RETURN_IF_ERROR(applyBasics(own, version, op, s));
  HCCL_RETURN_IF_ERROR(applyNetwork(own, version, op, s));
  if (version >= 8) HCCL_RETURN_IF_ERROR(applyOperation(own, op, s));
  if (version >= 9) {
    HCCL_ASSIGN_OR_RETURN(s.bufferName, text(op, own.hcclBufferName, "hcclBufferName"));
  }
  if (version >= 10) {
    s.qos = own.hcclQos;
    s.symWinMaxGb = own.hcclSymWinMaxMemSizePerRank;
  }
  if (version >= 11) s.channelSqDepth = own.hcclChannelSqDepth;
  return loaded;
}

void logLoadedConfig(const LoadedConfig& config, const std::string& name) {
  if (!config.header) return;
  const CommSettings& s = config.settings;
  HCCL_RUN_INFO("[Load] comm config info of [{}]: configSize[{}], version[{}], opExpansionMode[{}]",
                name, config.header->size, config.header->version, s.opExpansionMode);
  HCCL_RUN_INFO(
      "[Load] comm config of [{}]: bufferSize[{}], deterministic[{}], trafficClass[{}], "
      "serviceLevel[{}], execTimeOut[{}]s, bufferName[{}], hcclQos[{}], algo[{}], "
      "symWinMaxMemSizePerRank[{}]GB, worldRankID[{}], jobID[{}], udi[{}]",
      name, s.bufferBytes >> 20, s.deterministic, s.rdmaTrafficClass, s.rdmaServiceLevel,
      s.execTimeoutSec, s.bufferName, s.qos, s.algo.text, s.symWinMaxGb, s.worldRank, s.jobId,
      s.userInformation);
}

std::string agreedFacts(const CommSettings& settings) {
  const nlohmann::json facts = {
      {"inCclBufferSize", settings.bufferBytes >> 20},
      {"deterministic", settings.deterministic},
      {"algo", settings.algo.text},
      {"algoTable", settings.algoTable == nullptr ? "none" : settings.algoTable->hash()},
      {"commName", settings.name},
      {"version", kLibraryVersion},
  };
  return facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Status setProcessDeterministic(int32_t level, const Environment& environment) {
  if (level < 0 || level > 2) {
    return argumentError(HCCL_E_PARA, "HcclSetConfig", std::to_string(level), "HCCL_DETERMINISTIC",
                         "0 (off), 1 (on) or 2 (strict)");
  }
  if (environment.deterministicSet) {
    HCCL_WARNING("HCCL_DETERMINISTIC is set by the environment, HcclSetConfig({}) has no effect",
                 level);
    return Status::ok();
  }
  chosenDeterministic.store(level);
  for (const auto& communicator : Registry::instance().all()) {
    if (communicator->settings().deterministicFromConfig) continue;
    communicator->setDeterministic(static_cast<uint32_t>(level));
  }
  return Status::ok();
}

int32_t processDeterministic(const Environment& environment) {
  if (environment.deterministicSet) return static_cast<int32_t>(environment.deterministic);
  return std::max(0, chosenDeterministic.load());
}

}  // namespace hccl
