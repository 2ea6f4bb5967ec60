// Parse functions of the variables about operations and diagnosis.
#include "src/base/env_parser.h"

namespace hccl::env_rows {

bool deterministic(EnvParser& p) {
  if (!p.isSet) {
    p.logDefault();
    return true;
  }
  const std::string lower = lowerCase(p.value);
  if (lower == "true") {
    p.env.deterministic = Deterministic::kOn;
  } else if (lower == "strict") {
    p.env.deterministic = Deterministic::kStrict;
  } else if (lower != "false") {
    return false;
  }
  p.env.deterministicSet = true;
  p.log("set by environment to [{}], hcclDeterministic[{}]", p.value,
        static_cast<unsigned>(p.env.deterministic));
  return true;
}

bool bufferSize(EnvParser& p) {
  p.env.bufferSizeSet = p.isSet;
  return number<&Environment::bufferSizeMb, 1, UINT32_MAX>(p);
}

bool interHccsDisable(EnvParser& p) {
  if (!p.isSet) {
    p.log("is not set, default value is FALSE.");
    return true;
  }
  const std::string lower = lowerCase(p.value);
  if (lower != "true" && lower != "false") return false;
  p.env.interHccsDisabled = lower == "true";
  p.lines.push_back({false, fmt::format("[HCCL_ENV] environmental variable {} is set to [{}], "
                                        "interHccsDisable[{}]",
                                        p.variable.name, p.value, lower == "true" ? 1 : 0)});
  return true;
}

bool opExpansionMode(EnvParser& p) {
  if (p.isSet) {
    const auto mode = parseOpExpansionMode(p.value);
    if (!mode) return false;
    p.env.opExpansionMode = *mode;
  }
  const OpExpansionMode mode = p.env.opExpansionMode;
  const bool cache = mode == OpExpansionMode::kAiCpu;
  const std::string origin =
      p.isSet ? fmt::format("set by environment to [{}]", p.value) : "is not set";
  p.log("{}, aicpuUnfold is [{}], aivMode is [{}], aicpuCacheEnable is [{}]", origin,
        cache || mode == OpExpansionMode::kAiCpuCacheDisable ? 1 : 0,
        mode == OpExpansionMode::kAiv ? 1 : 0, cache ? 1 : 0);
  return true;
}

bool retryEnable(EnvParser& p) {
  if (!p.isSet) {
    p.lines.push_back({false, fmt::format("[HCCL_ENV][ParseRetryEnable] {} is not set. The "
                                          "retryEnable of all levels is set to false.",
                                          p.variable.name)});
    return true;
  }
  bool ignoredL0 = false;
  const auto retry = RetryEnable::parse(p.value, &ignoredL0);
  if (!retry) return false;
  p.env.retryEnable = *retry;
  if (ignoredL0) p.warn("L0 is not supported, its value is ignored");
  p.log("set by environment to [{}], L1[{}], L2[{}]", p.value, retry->server ? 1 : 0,
        retry->superPod ? 1 : 0);
  return true;
}

bool retryParams(EnvParser& p) {
  if (p.isSet) {
    const auto params = RetryParams::parse(p.value);
    if (!params) return false;
    p.env.retryParams = *params;
  }
  const RetryParams& params = p.env.retryParams;
  p.log("{}, {}MaxCnt is [{}], HoldTime is [{}]ms, IntervalTime is [{}]ms",
        p.isSet ? fmt::format("set by environment to [{}]", p.value) : "is not set",
        p.isSet ? "" : "default value ", params.maxCount, params.holdTimeMs, params.intervalTimeMs);
  return true;
}

bool debugConfig(EnvParser& p) {
  if (!p.isSet) {
    p.log("is not set, debugConfig set by default to 0x0");
    return true;
  }
  constexpr uint32_t kAll = kDebugAlg | kDebugTask | kDebugResource | kDebugAivOpsException;
  std::string packed = withoutSpaces(p.value);
  const bool invert = packed.starts_with('^');
  if (invert) packed.erase(0, 1);
  uint32_t bits = 0;
  for (const std::string_view item : splitText(packed, ',')) {
    if (item == "ALG") {
      bits |= kDebugAlg;
    } else if (item == "TASK") {
      bits |= kDebugTask;
    } else if (item == "RESOURCE") {
      bits |= kDebugResource;
    } else if (item == "AIV_OPS_EXC") {
      bits |= kDebugAivOpsException;
    } else {
      return false;
    }
  }
  p.env.debugConfig = invert ? kAll & ~bits : bits;
  p.log("set by environment to [{}], debugConfig[0x{:x}]", p.value, p.env.debugConfig);
  return true;
}

bool dfsConfig(EnvParser& p) {
  if (!p.isSet) {
    p.log("is not set.");
    return true;
  }
  std::vector<std::string> warnings;
  const auto config = DfsConfig::parse(p.value, &warnings);
  if (!config) return false;
  p.env.dfs = *config;
  for (const std::string& warning : warnings) p.warn("{}", warning);
  p.lines.push_back(
      {false,
       fmt::format("[HCCL_ENV][Parse] HCCL_DFS_CONFIG cluster_heartbeat set by environment to "
                   "[{}], stuck_detection set by environment to [{}], "
                   "connection_fault_detection_time[{}]s "
                   "inconsistentCheckSwitch[{}],task_monitor_interval[{}]ms",
                   config->clusterHeartbeat ? 1 : 0, config->stuckDetection ? 1 : 0,
                   config->connectionFaultDetectionSec, static_cast<int>(config->inconsistentCheck),
                   config->taskMonitorIntervalMs)});
  return true;
}

bool algo(EnvParser& p) {
  if (!p.isSet) {
    p.log("is not set");
    return true;
  }
  std::vector<std::string> warnings;
  auto config = parseAlgoConfig(p.value, &warnings);
  if (!config) return false;
  p.env.algo = std::move(*config);
  for (const std::string& warning : warnings) p.warn("{}", warning);
  p.logValue();
  for (size_t i = 0; i < kAlgoOpCount; ++i) {
    if (p.env.algo.perOp[i] == AlgoLevels{}) continue;
    p.lines.push_back(
        {false, fmt::format("hccl algo op {} config: {}", toString(static_cast<AlgoOp>(i)),
                            algoLevelsText(p.env.algo.perOp[i]))});
  }
  return true;
}

bool algoTable(EnvParser& p) {
  if (!p.isSet) {
    p.log("is not set");
    return true;
  }
  auto table = AlgoTable::load(p.value);
  if (!table) {
    p.failure = table.status();
    return false;
  }
  p.env.algoTable = std::move(*table);
  p.log("set by environment to [{}], rows[{}], hash[{}]", p.value, p.env.algoTable->rows().size(),
        p.env.algoTable->hash());
  return true;
}

bool splitRatio(EnvParser& p) {
  if (p.isSet) {
    const auto ratio = parseDecimal(p.value, 2);
    if (!ratio || *ratio > 1) return false;
    p.env.multiDimensionSplitRatio = *ratio;
  }
  p.logStandard();
  return true;
}

}  // namespace hccl::env_rows
