// The checks that every version of a rank table shares, once its ranks are known.
#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "src/base/log.h"
#include "src/bootstrap/rank_table_fields.h"
#include "src/fault/ei_errors.h"

namespace hccl::ranktable {
namespace {

Result<uint32_t> ownRank(const Parsed& parsed, const std::string& identify,
                         const RankTableOptions& options) {
  const auto pod = parsed.podRanks.find(identify);
  if (pod != parsed.podRanks.end()) {
    // A pod with several devices: the one that the caller has chosen.
    for (const RankInfo& info : parsed.cluster.ranks) {
      if (options.localDevice == info.deviceId && pod->second.count(info.rank) != 0) {
        return info.rank;
      }
    }
    return *pod->second.begin();
  }
  const std::optional<uint32_t> rank = parseDecimal(identify);
  if (!rank) {
    return argumentError(HCCL_E_PARA, "HcclCommInitClusterInfo", shortened(identify), "RANK_ID",
                         "a non-negative decimal number");
  }
  if (*rank >= parsed.cluster.size()) {
    return valueError(identify, "rank_id", fmt::format("less than {}", parsed.cluster.size()));
  }
  return *rank;
}

Status checkIds(const Cluster& cluster) {
  for (uint32_t i = 0; i < cluster.size(); ++i) {
    const uint32_t id = cluster.ranks[i].rank;
    if (id == i) continue;
    return valueError(std::to_string(id), "rank_id",
                      fmt::format("rank ids from 0 to {}, each once", cluster.size() - 1),
                      HCCL_E_UNAVAIL, fmt::format("check rankList[{}] rankId[{}] failed", i, id));
  }
  return Status::ok();
}

Status checkDevices(const Parsed& parsed) {
  std::set<std::pair<std::string_view, uint32_t>> seen;
  for (const RankInfo& info : parsed.cluster.ranks) {
    if (parsed.hostRanks.count(info.rank) != 0) continue;
    if (!seen.emplace(info.serverId, info.deviceId).second) {
      return valueError(std::to_string(info.deviceId),
                        fmt::format("Device Id of server Id {}", shortened(info.serverId)),
                        "is unique");
    }
  }
  return Status::ok();
}

Status checkFamilies(const Cluster& cluster) {
  int family = 0;
  for (const RankInfo& info : cluster.ranks) {
    for (const std::string& text : info.deviceIps) {
      const std::optional<IpAddress> ip = IpAddress::parse(text);
      if (!ip) continue;
      if (family == 0) family = ip->family();
      if (ip->family() == family) continue;
      return valueError(text, "device_ip", "one address family for all devices", HCCL_E_PARA,
                        fmt::format("rank[{}] device ip family[{}] is not same as others[{}].",
                                    info.rank, ip->family(), family));
    }
  }
  return Status::ok();
}

Status checkOwnDevice(const Parsed& parsed, uint32_t rank, const RankTableOptions& options) {
  const uint32_t device = parsed.cluster.ranks[rank].deviceId;
  if (!options.localDevice || *options.localDevice == device) return Status::ok();
  if (parsed.hostRanks.count(rank) != 0) return Status::ok();
  return valueError(
      std::to_string(device), "devicePhyId",
      fmt::format("the current device {}", *options.localDevice), HCCL_E_UNAVAIL,
      fmt::format("ranktable config devId[{}],but local devId[{}]", device, *options.localDevice));
}

}  // namespace

Result<RankTable> finish(Parsed parsed, const std::string& identify,
                         const RankTableOptions& options) {
  std::vector<RankInfo>& ranks = parsed.cluster.ranks;
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const RankInfo& a, const RankInfo& b) { return a.rank < b.rank; });
  HCCL_ASSIGN_OR_RETURN(const uint32_t rank, ownRank(parsed, identify, options));
  HCCL_RETURN_IF_ERROR(checkIds(parsed.cluster));
  HCCL_RETURN_IF_ERROR(checkOwnDevice(parsed, rank, options));
  HCCL_RETURN_IF_ERROR(checkDevices(parsed));
  HCCL_RETURN_IF_ERROR(checkFamilies(parsed.cluster));
  if (!parsed.cluster.hasContiguousServers()) {
    HCCL_WARNING("[InitGroupStage][RanktableCheck] the rank ids of different servers interleave");
  }
  return RankTable{std::move(parsed.cluster), rank, parsed.isHeterogeneous};
}

}  // namespace hccl::ranktable
