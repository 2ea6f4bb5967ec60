#include "src/bootstrap/rank_table_fields.h"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "src/base/log.h"
#include "src/fault/ei_errors.h"

namespace hccl::ranktable {
namespace {

constexpr std::string_view kCheck = "[InitGroupStage][RanktableCheck]";
constexpr size_t kMessageText = 128;

}  // namespace

std::string shortened(std::string_view text) {
  if (text.size() <= kMessageText) return std::string(text);
  return std::string(text.substr(0, kMessageText)) + "...";
}

Status valueError(std::string_view value, std::string_view variable, std::string_view expected,
                  HcclResult code, std::string_view detail) {
  Status status = eiError(Ei::kRankTableValue, code, {shortened(value), variable, expected});
  HCCL_ERROR("{}{} {}", kCheck, errNoText(code),
             detail.empty() ? std::string_view(status.text()) : detail);
  return status;
}

Status countError(uint64_t value, std::string_view variable, uint64_t expected) {
  return valueError(std::to_string(value), variable, std::to_string(expected));
}

const Json* Fields::find(std::string_view key) const {
  if (!object_.is_object()) return nullptr;
  const auto it = object_.find(key);
  return it == object_.end() ? nullptr : &*it;
}

bool Fields::has(std::string_view key) const {
  return find(key) != nullptr;
}

Status Fields::missing(std::string_view key) const {
  const std::string where = index_ < 0 ? std::string() : fmt::format(" index[{}]", index_);
  HCCL_ERROR("{}{} json object{} has no property called {}", kCheck, errNoText(HCCL_E_NOT_FOUND),
             where, key);
  return eiError(Ei::kRankTableMissing, HCCL_E_NOT_FOUND, {key});
}

Status Fields::wrongType(std::string_view key, std::string_view type) const {
  HCCL_ERROR("{}{} json object property value of Name[{}] is not {}!", kCheck,
             errNoText(HCCL_E_PARA), key, type);
  return eiError(Ei::kRankTableMissing, HCCL_E_PARA, {key});
}

Result<std::string> Fields::text(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return missing(key);
  if (!value->is_string()) return wrongType(key, "string");
  return value->get_ref<const std::string&>();
}

Result<std::optional<std::string>> Fields::optionalText(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  if (!value->is_string()) return wrongType(key, "string");
  return std::optional<std::string>(value->get_ref<const std::string&>());
}

Result<uint32_t> Fields::decimal(std::string_view key, std::string_view expected) const {
  HCCL_ASSIGN_OR_RETURN(const std::string value, text(key));
  const std::optional<uint32_t> number = parseDecimal(value);
  if (!number) return valueError(value, key, expected);
  return *number;
}

Result<uint32_t> Fields::integer(std::string_view key, uint32_t low, uint32_t high) const {
  const Json* value = find(key);
  if (value == nullptr) return missing(key);
  if (!value->is_number_integer()) return wrongType(key, "number");
  const bool fits = value->is_number_unsigned() && value->get<uint64_t>() >= low &&
                    value->get<uint64_t>() <= high;
  if (!fits) return valueError(value->dump(), key, fmt::format("[{}, {}]", low, high));
  return static_cast<uint32_t>(value->get<uint64_t>());
}

Result<std::optional<uint32_t>> Fields::optionalInteger(std::string_view key, uint32_t low,
                                                        uint32_t high) const {
  if (!has(key)) return std::optional<uint32_t>();
  HCCL_ASSIGN_OR_RETURN(const uint32_t number, integer(key, low, high));
  return std::optional<uint32_t>(number);
}

Result<const Json*> Fields::array(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return missing(key);
  if (!value->is_array()) return wrongType(key, "array");
  if (value->empty()) {
    return valueError("0", key, "a list that is not empty", HCCL_E_PARA,
                      fmt::format("property[{}] size is zero", key));
  }
  return value;
}

Result<const Json*> Fields::optionalArray(std::string_view key) const {
  const Json* value = find(key);
  if (value != nullptr && !value->is_array()) return wrongType(key, "array");
  return value;
}

Status UniquePool::add(std::string_view kind, const std::string& text) {
  const auto it = texts_.try_emplace(std::string(kind)).first;
  if (it->second.insert(text).second) return Status::ok();
  return valueError(text, "\"IP\" is repeate", "please check the ranktable", HCCL_E_PARA,
                    fmt::format("[{}]:[{}] is already exist", kind, shortened(text)));
}

std::optional<uint32_t> parseDecimal(std::string_view text) {
  if (text.empty() || text.size() > 10) return std::nullopt;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<IpAddress> checkedIp(std::string_view text) {
  const std::optional<IpAddress> ip = IpAddress::parse(text);
  if (!ip) return valueError(text, "IP", "a valid IP address");
  return *ip;
}

Result<uint16_t> checkedPort(std::string_view key, const std::string& text) {
  constexpr std::string_view kRange = "a port number in the range [1, 65535]";
  const std::optional<uint32_t> number = parseDecimal(text);
  if (number == 0u) {
    return valueError(text, key, kRange, HCCL_E_PARA,
                      "please do not use the reserved port number[0]");
  }
  if (!number || *number > 65535) return valueError(text, key, kRange);
  return static_cast<uint16_t>(*number);
}

Status checkName(std::string_view key, const std::string& text, size_t limit) {
  if (!text.empty() && text.size() <= limit) return Status::ok();
  return valueError(text, key, fmt::format("a text of 1 to {} characters", limit));
}

}  // namespace hccl::ranktable
