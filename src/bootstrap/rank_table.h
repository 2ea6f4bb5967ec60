// Rank tables: reading and checking every version that HCCL accepts (docs/ranktable.md).
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "src/base/env_types.h"
#include "src/base/status.h"
#include "src/topology/cluster.h"

namespace hccl {

struct Environment;

struct RankTableOptions {
  // Physical id of the caller's current device; the own entry must name it. Unset: not checked.
  std::optional<uint32_t> localDevice;
  uint32_t deviceLimit = 1024;    // device_id of 1.x tables is below it
  bool intraRoce = false;         // HCCL_INTRA_ROCE_ENABLE
  uint16_t defaultPort = 60008;   // first default port of 1.1 tables
  double pollSeconds = 1;         // while "status" is not "completed"
  double limitSeconds = 30 * 60;  // ... and how long
  std::stop_token cancel;         // ends that wait with HCCL_E_UNAVAIL
};
// intraRoce and defaultPort from the environment.
RankTableOptions rankTableOptions(const Environment& environment);

struct RankTable {
  Cluster cluster;
  uint32_t rank = 0;  // own
  bool isHeterogeneous = false;
};

// Reads and checks the table at `path`. `identify` is the own rank as decimal text (legacy cloud
// tables: also the pod name). Blocks while the table's status is not "completed".
// Errors: EI0003 (identify), EI0004 (file), EI0014 (value), EI0017 (missing key), HCCL_E_TIMEOUT;
// each has been logged with its keywords.
Result<RankTable> loadRankTable(const std::string& path, const std::string& identify,
                                const RankTableOptions& options = {});
Result<RankTable> loadRankTable(const std::string& path, uint32_t rank,
                                const RankTableOptions& options = {});
// The same for the content of a table; a status other than "completed" is an error at once
// (HCCL_E_AGAIN).
Result<RankTable> parseRankTable(std::string_view text, const std::string& identify,
                                 const RankTableOptions& options = {});

inline constexpr size_t kMaxRankTableBytes = 1ULL << 30;
inline constexpr int kMaxRankTableDepth = 32;

}  // namespace hccl
