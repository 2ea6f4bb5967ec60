#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "src/fault/ei_errors.h"
#include "src/topology/cluster.h"

namespace hccl {
namespace {

Status detectError(const std::string& reason, uint32_t culprit) {
  return eiError(Ei::kRankTableDetect, HCCL_E_PARA, {reason}, static_cast<int>(culprit));
}

Status checkRankIds(const Cluster& cluster, uint32_t expected) {
  std::unordered_map<uint32_t, const RankInfo*> seen;
  for (const RankInfo& info : cluster.ranks) {
    if (info.rank >= expected) {
      return detectError(
          fmt::format("Rank ID {} of device ID {} on node {} is not below the number "
                      "of ranks {}",
                      info.rank, info.deviceId, info.serverId, expected),
          info.rank);
    }
    const auto [it, isNew] = seen.try_emplace(info.rank, &info);
    if (!isNew) {
      return detectError(
          fmt::format(
              "Rank ID {} of device ID {} on node {} is the same as that of device ID {} on "
              "node {}",
              info.rank, info.deviceId, info.serverId, it->second->deviceId, it->second->serverId),
          info.rank);
    }
  }
  if (cluster.size() != expected) {
    return detectError(fmt::format("rank num[{}]is different with rank list size[{}] in total topo "
                                   "rank info.",
                                   expected, cluster.size()),
                       expected);
  }
  for (uint32_t i = 0; i < expected; ++i) {
    if (cluster.ranks[i].rank != i) {
      return detectError(fmt::format("the rank list is not sorted: entry {} holds rank {}", i,
                                     cluster.ranks[i].rank),
                         i);
    }
  }
  return Status::ok();
}

Status checkDevices(const Cluster& cluster) {
  std::map<std::pair<std::string, uint32_t>, uint32_t> devices;
  for (const RankInfo& info : cluster.ranks) {
    const auto [it, isNew] = devices.try_emplace({info.serverId, info.deviceId}, info.rank);
    if (!isNew) {
      return detectError(
          fmt::format("Rank {} of node {} has the same physical device ID {} as the rank {}",
                      it->second, info.serverId, info.deviceId, info.rank),
          info.rank);
    }
  }
  return Status::ok();
}

Status checkDeviceIps(const Cluster& cluster) {
  if (cluster.servers().size() < 2) return Status::ok();
  std::unordered_map<std::string, const RankInfo*> owners;
  for (const RankInfo& info : cluster.ranks) {
    for (const std::string& ip : info.deviceIps) {
      const auto [it, isNew] = owners.try_emplace(ip, &info);
      if (!isNew && it->second != &info) {
        return detectError(
            fmt::format("The device IP address {} of rank {} on node {} is the same "
                        "as the device IP address of rank {} on node {}",
                        ip, info.rank, info.serverId, it->second->rank, it->second->serverId),
            info.rank);
      }
    }
  }
  return Status::ok();
}

Status checkSuperPods(const Cluster& cluster) {
  std::map<std::pair<std::string, uint64_t>, uint32_t> seen;
  for (const RankInfo& info : cluster.ranks) {
    if (info.superPodId.empty() || info.superDeviceId.empty()) continue;
    uint64_t id = 0;
    const char* end = info.superDeviceId.data() + info.superDeviceId.size();
    const auto [stop, error] = std::from_chars(info.superDeviceId.data(), end, id);
    if (error != std::errc() || stop != end || id > UINT32_MAX) {
      return eiError(Ei::kRankTableValue, HCCL_E_PARA,
                     {info.superDeviceId, "super_device_id", "a valid non-negative integer"},
                     static_cast<int>(info.rank));
    }
    const auto [it, isNew] = seen.try_emplace({info.superPodId, id}, info.rank);
    if (!isNew) {
      return eiError(
          Ei::kRankTableValue, HCCL_E_PARA,
          {info.superDeviceId, "super_device_id",
           fmt::format("a value that is unique in super-pod {} (rank {} and rank {} have "
                       "the same)",
                       info.superPodId, it->second, info.rank)},
          static_cast<int>(info.rank));
    }
  }
  return Status::ok();
}

Status checkNicDeploy(const Cluster& cluster) {
  for (const RankInfo& info : cluster.ranks) {
    const RankInfo& first = cluster.ranks.front();
    if (info.hostNic == first.hostNic) continue;
    const auto name = [](const RankInfo& rank) { return rank.hostNic ? "host" : "device"; };
    return detectError(
        fmt::format("The NIC deployment {} of rank {} on node {} differs from {} of "
                    "rank {} on node {}",
                    name(info), info.rank, info.serverId, name(first), first.rank, first.serverId),
        info.rank);
  }
  return Status::ok();
}

}  // namespace

Status verifyCluster(const Cluster& cluster, uint32_t expected) {
  HCCL_RETURN_IF_ERROR(checkRankIds(cluster, expected));
  HCCL_RETURN_IF_ERROR(checkNicDeploy(cluster));
  HCCL_RETURN_IF_ERROR(checkDeviceIps(cluster));
  HCCL_RETURN_IF_ERROR(checkDevices(cluster));
  return checkSuperPods(cluster);
}

}  // namespace hccl
