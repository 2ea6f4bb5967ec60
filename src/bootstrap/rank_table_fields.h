// Internal to the rank-table parsers: typed access to JSON with HCCL's errors and log lines.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "src/base/ip_address.h"
#include "src/base/status.h"
#include "src/bootstrap/rank_table.h"

namespace hccl::ranktable {

using Json = nlohmann::json;

// Texts of a table that may be of any length, cut for messages.
std::string shortened(std::string_view text);

// EI0014, logged under [InitGroupStage][RanktableCheck] with `detail`.
Status valueError(std::string_view value, std::string_view variable, std::string_view expected,
                  HcclResult code = HCCL_E_PARA, std::string_view detail = {});
// A rule that has no EI code of its own in HCCL: EI0014 too, so that a user finds the cause.
Status countError(uint64_t value, std::string_view variable, uint64_t expected);

// One JSON object. `index` is its position when it is an array's element.
class Fields {
 public:
  explicit Fields(const Json& object, int index = -1) : object_(object), index_(index) {}

  bool has(std::string_view key) const;
  // Mandatory string: EI0017 when it is missing (HCCL_E_NOT_FOUND) or no string (HCCL_E_PARA).
  Result<std::string> text(std::string_view key) const;
  // nullopt when missing.
  Result<std::optional<std::string>> optionalText(std::string_view key) const;
  // Mandatory decimal text; EI0014 with `expected` when it is none.
  Result<uint32_t> decimal(std::string_view key, std::string_view expected) const;
  // Mandatory JSON integer in [low, high] (2.0 tables).
  Result<uint32_t> integer(std::string_view key, uint32_t low, uint32_t high) const;
  Result<std::optional<uint32_t>> optionalInteger(std::string_view key, uint32_t low,
                                                  uint32_t high) const;
  // Mandatory non-empty array.
  Result<const Json*> array(std::string_view key) const;
  // nullptr when missing; may be empty.
  Result<const Json*> optionalArray(std::string_view key) const;

 private:
  const Json* find(std::string_view key) const;
  Status missing(std::string_view key) const;
  Status wrongType(std::string_view key, std::string_view type) const;

  const Json& object_;
  int index_;
};

// Texts that may occur once per kind (server_id, device_ip, ...).
class UniquePool {
 public:
  Status add(std::string_view kind, const std::string& text);

 private:
  std::map<std::string, std::set<std::string>, std::less<>> texts_;
};

// Digits only, at most 10 of them, fitting 32 bits.
std::optional<uint32_t> parseDecimal(std::string_view text);
// EI0014 with the variable IP.
Result<IpAddress> checkedIp(std::string_view text);
// A port of 1..65535 out of a decimal text.
Result<uint16_t> checkedPort(std::string_view key, const std::string& text);
// Names: not empty, at most `limit` characters.
Status checkName(std::string_view key, const std::string& text, size_t limit = 128);

// The parsers: ranks in any order, own rank not yet looked up. `podRanks`: ranks of each pod name.
struct Parsed {
  Cluster cluster;
  bool isHeterogeneous = false;
  std::set<uint32_t> hostRanks;  // 1.1: ranks without a device
  std::map<std::string, std::set<uint32_t>> podRanks;
};
Result<Parsed> parseConcise(const Json& root, const std::string& version,
                            const RankTableOptions& options);
Result<Parsed> parseHeterogeneous(const Json& root, const RankTableOptions& options);
Result<Parsed> parseVersion2(const Json& root, const RankTableOptions& options);
Result<Parsed> parseLegacy(const Json& root, const RankTableOptions& options);

// Sorts, checks ids, devices and addresses, and finds the own rank.
Result<RankTable> finish(Parsed parsed, const std::string& identify,
                         const RankTableOptions& options);

}  // namespace hccl::ranktable
