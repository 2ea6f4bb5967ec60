// What the parse function of a table row works with. Private to src/base/env*.cc.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/env.h"

namespace hccl {

struct EnvParser {
  const EnvVariable& variable;
  const EnvLookup& lookup;
  Environment& env;
  std::vector<EnvLogLine>& lines;
  // Empty values count as unset.
  bool isSet = false;
  std::string value;
  // Set to replace the row's own text, the row's value, the row's name in EI0001.
  std::string expect, failedValue, failedName;
  // Set when the error is known in full.
  Status failure;

  template <typename... Args>
  void log(fmt::format_string<Args...> format, Args&&... args) {
    lines.push_back({false, fmt::format("[HCCL_ENV] {} {}", variable.name,
                                        fmt::format(format, std::forward<Args>(args)...))});
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    lines.push_back({true, fmt::format("[HCCL_ENV] {} {}", variable.name,
                                       fmt::format(format, std::forward<Args>(args)...))});
  }
  void logDefault() { log("set by default to [{}]{}", variable.defaultValue, variable.unit); }
  void logValue() { log("set by environment to [{}]{}", value, variable.unit); }
  void logStandard() { isSet ? logValue() : logDefault(); }

  // A value of another variable; nullopt when it is unset or empty.
  std::optional<std::string> other(const char* name) const {
    const char* text = lookup(name);
    if (text == nullptr || *text == '\0') return std::nullopt;
    return text;
  }
};

// Digits only, at most 10 of them, inside [low, high].
inline std::optional<uint64_t> parseUnsigned(std::string_view text, uint64_t low, uint64_t high) {
  if (text.empty() || text.size() > 10) return std::nullopt;
  uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  if (number < low || number > high) return std::nullopt;
  return number;
}

// Digits with at most `decimals` after a point: "7", "7.25".
inline std::optional<double> parseDecimal(std::string_view text, size_t decimals) {
  const size_t point = text.find('.');
  const auto whole = parseUnsigned(text.substr(0, point), 0, UINT64_MAX);
  if (!whole) return std::nullopt;
  auto number = static_cast<double>(*whole);
  if (point == std::string_view::npos) return number;
  const std::string_view fraction = text.substr(point + 1);
  if (fraction.size() > decimals) return std::nullopt;
  const auto part = parseUnsigned(fraction, 0, UINT64_MAX);
  if (!part) return std::nullopt;
  double scale = 1;
  for (size_t i = 0; i < fraction.size(); ++i) scale *= 10;
  return number + static_cast<double>(*part) / scale;
}

inline std::string lowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

inline std::string withoutSpaces(std::string_view text) {
  std::string packed;
  std::copy_if(text.begin(), text.end(), std::back_inserter(packed),
               [](unsigned char c) { return std::isspace(c) == 0; });
  return packed;
}

inline std::vector<std::string_view> splitText(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// The rows, grouped by topic; the table joins them in parse order.
namespace env_rows {
bool connectTimeout(EnvParser& p);
bool execTimeout(EnvParser& p);
bool intraPcie(EnvParser& p);
bool intraRoce(EnvParser& p);
bool whitelistDisable(EnvParser& p);
bool whitelistFile(EnvParser& p);
bool ifIp(EnvParser& p);
bool socketFamily(EnvParser& p);
bool socketIfname(EnvParser& p);
bool hostPortRange(EnvParser& p);
bool npuPortRange(EnvParser& p);
bool logicSuperPodId(EnvParser& p);
bool cmChiefIp(EnvParser& p);
bool cmWorkerIp(EnvParser& p);
bool rdmaFastPost(EnvParser& p);
bool qpPortConfigPath(EnvParser& p);
bool deterministic(EnvParser& p);
bool interHccsDisable(EnvParser& p);
bool opExpansionMode(EnvParser& p);
bool retryEnable(EnvParser& p);
bool retryParams(EnvParser& p);
bool debugConfig(EnvParser& p);
bool dfsConfig(EnvParser& p);
bool algo(EnvParser& p);
bool algoTable(EnvParser& p);
bool splitRatio(EnvParser& p);
bool transport(EnvParser& p);
bool rdmaFlagPolling(EnvParser& p);
bool bufferSize(EnvParser& p);
bool qpsPerConnection(EnvParser& p);
bool multiQpThreshold(EnvParser& p);

// A number in [Low, High] that is a multiple of Multiple.
template <auto Member, uint64_t Low, uint64_t High, uint64_t Multiple = 1>
bool number(EnvParser& p) {
  if (p.isSet) {
    const auto parsed = parseUnsigned(p.value, Low, High);
    if (!parsed || *parsed % Multiple != 0) return false;
    auto& target = p.env.*Member;
    using Target = std::remove_reference_t<decltype(target)>;
    if constexpr (std::is_arithmetic_v<Target>) {
      target = static_cast<Target>(*parsed);
    } else {
      target = static_cast<typename Target::value_type>(*parsed);
    }
  }
  p.logStandard();
  return true;
}

// 0 or 1.
template <auto Member>
bool flag(EnvParser& p) {
  if (p.isSet) {
    if (p.value != "0" && p.value != "1") return false;
    p.env.*Member = p.value == "1";
  }
  p.logStandard();
  return true;
}

template <auto Member, uint64_t Low, uint64_t High>
bool cmNumber(EnvParser& p) {
  if (!p.isSet) return true;
  const auto parsed = parseUnsigned(p.value, Low, High);
  if (!parsed) return false;
  auto& target = p.env.cm.*Member;
  target = static_cast<typename std::remove_reference_t<decltype(target)>::value_type>(*parsed);
  p.logValue();
  return true;
}
}  // namespace env_rows

}  // namespace hccl
