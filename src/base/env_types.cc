#include "src/base/env_types.h"

#include <array>

#include "src/base/env_parser.h"

namespace hccl {
namespace {

constexpr std::pair<std::string_view, OpExpansionMode> kModes[] = {
    {"AI_CPU", OpExpansionMode::kAiCpu},
    {"AICPU_TS", OpExpansionMode::kAiCpu},
    {"AICPU_CacheDisable", OpExpansionMode::kAiCpuCacheDisable},
    {"AIV", OpExpansionMode::kAiv},
    {"HOST", OpExpansionMode::kHost},
    {"HOST_TS", OpExpansionMode::kHostTs},
    {"CCU_MS", OpExpansionMode::kCcuMs},
    {"CCU_SCHED", OpExpansionMode::kCcuSched},
};

// "key:value"; the separator is the first of `separators`.
std::optional<std::pair<std::string_view, std::string_view>> keyValue(std::string_view text,
                                                                      std::string_view separators) {
  const size_t at = text.find_first_of(separators);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

}  // namespace

std::string_view toString(OpExpansionMode mode) {
  for (const auto& [name, value] : kModes) {
    if (value == mode) return name;
  }
  return "";
}

std::optional<OpExpansionMode> parseOpExpansionMode(std::string_view text) {
  for (const auto& [name, value] : kModes) {
    if (name == text) return value;
  }
  return std::nullopt;
}

bool PortRanges::contains(uint16_t port) const {
  if (automatic) return port != 0;
  return std::any_of(ranges.begin(), ranges.end(), [port](const PortRange& range) {
    return port >= range.first && port <= range.last;
  });
}

std::optional<PortRanges> PortRanges::parse(std::string_view text) {
  PortRanges result;
  const std::string packed = withoutSpaces(text);
  if (packed == "auto") {
    result.automatic = true;
    return result;
  }
  for (const std::string_view item : splitText(packed, ',')) {
    const size_t dash = item.find('-');
    const auto first = parseUnsigned(item.substr(0, dash), 1, 65535);
    const auto last =
        dash == std::string_view::npos ? first : parseUnsigned(item.substr(dash + 1), 1, 65535);
    if (!first || !last || *first > *last) return std::nullopt;
    const PortRange range{static_cast<uint16_t>(*first), static_cast<uint16_t>(*last)};
    for (const PortRange& earlier : result.ranges) {
      if (range.first <= earlier.last && earlier.first <= range.last) return std::nullopt;
    }
    result.ranges.push_back(range);
  }
  return result;
}

std::optional<RetryEnable> RetryEnable::parse(std::string_view text, bool* ignoredL0) {
  RetryEnable result;
  std::array<bool, 3> seen{};
  if (ignoredL0 != nullptr) *ignoredL0 = false;
  const std::string packed = withoutSpaces(text);
  for (const std::string_view item : splitText(packed, ',')) {
    const auto pair = keyValue(item, ":");
    if (!pair || pair->first.size() != 2 || pair->first[0] != 'L') return std::nullopt;
    const int level = pair->first[1] - '0';
    if (level < 0 || level > 2 || (pair->second != "0" && pair->second != "1")) return std::nullopt;
    if (std::exchange(seen[static_cast<size_t>(level)], true)) return std::nullopt;
    const bool on = pair->second == "1";
    if (level == 0 && ignoredL0 != nullptr) *ignoredL0 = true;
    if (level == 1) result.server = on;
    if (level == 2) result.superPod = on;
  }
  return result;
}

std::optional<RetryParams> RetryParams::parse(std::string_view text) {
  RetryParams result;
  const std::string packed = withoutSpaces(text);
  const auto items = splitText(packed, ',');
  if (items.size() != 3) return std::nullopt;
  std::array<bool, 3> seen{};
  for (const std::string_view item : items) {
    const auto pair = keyValue(item, ":");
    if (!pair) return std::nullopt;
    size_t index = 0;
    uint32_t* target = &result.maxCount;
    if (pair->first == "HoldTime") {
      index = 1;
      target = &result.holdTimeMs;
    } else if (pair->first == "IntervalTime") {
      index = 2;
      target = &result.intervalTimeMs;
    } else if (pair->first != "MaxCnt") {
      return std::nullopt;
    }
    const auto number =
        index == 0 ? parseUnsigned(pair->second, 1, 10) : parseUnsigned(pair->second, 0, 60000);
    if (!number || std::exchange(seen[index], true)) return std::nullopt;
    *target = static_cast<uint32_t>(*number);
  }
  return result;
}

std::optional<double> parseExecTimeout(std::string_view text) {
  const auto seconds = parseDecimal(text, 2);
  if (!seconds || *seconds > 2147483647.0) return std::nullopt;
  return seconds;
}

std::optional<DfsConfig> DfsConfig::parse(std::string_view text,
                                          std::vector<std::string>* warnings) {
  DfsConfig result;
  const auto onOff = [warnings](std::string_view key, std::string_view value, bool* target) {
    if (value == "on" || value == "off") {
      *target = value == "on";
    } else if (warnings != nullptr) {
      warnings->push_back(fmt::format("{}:{} is neither on nor off, the default value [{}] is kept",
                                      key, value, *target ? "on" : "off"));
    }
  };
  const std::string packed = lowerCase(withoutSpaces(text));
  for (const std::string_view item : splitText(packed, ',')) {
    // The text of EI0001 writes "=", the documentation ":": both are taken.
    const auto pair = keyValue(item, ":=");
    if (!pair) return std::nullopt;
    const auto& [key, value] = *pair;
    if (key == "cluster_heartbeat") {
      onOff(key, value, &result.clusterHeartbeat);
    } else if (key == "stuck_detection") {
      onOff(key, value, &result.stuckDetection);
    } else if (key == "task_exception") {
      onOff(key, value, &result.taskException);
    } else if (key == "inconsistent_check") {
      if (value == "first") {
        result.inconsistentCheck = InconsistentCheck::kFirst;
      } else if (value == "on" || value == "off") {
        result.inconsistentCheck = value == "on" ? InconsistentCheck::kOn : InconsistentCheck::kOff;
      } else if (warnings != nullptr) {
        warnings->push_back(fmt::format(
            "{}:{} is none of first, on, off, the default value [first] is kept", key, value));
      }
    } else if (key == "connection_fault_detection_time") {
      const auto seconds = parseUnsigned(value, 0, 7200);
      if (!seconds || (*seconds > 0 && *seconds < 20)) return std::nullopt;
      result.connectionFaultDetectionSec = static_cast<uint32_t>(*seconds);
    } else if (key == "task_monitor_interval") {
      const auto ms = parseUnsigned(value, 0, 7200000);
      if (!ms) return std::nullopt;
      result.taskMonitorIntervalMs = static_cast<uint32_t>(*ms);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

std::optional<TransportSet> TransportSet::parse(std::string_view text) {
  if (text == "auto") return TransportSet{};
  TransportSet result{false, false, false, false};
  const std::string packed = withoutSpaces(text);
  for (const std::string_view item : splitText(packed, ',')) {
    bool* target = nullptr;
    if (item == "shm") target = &result.shm;
    if (item == "rdma") target = &result.rdma;
    if (item == "tcp") target = &result.tcp;
    if (target == nullptr || std::exchange(*target, true)) return std::nullopt;
  }
  return result;
}

}  // namespace hccl
