#include "src/topology/cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "src/base/ip_address.h"

namespace hccl {
namespace {

// Every text is preceded by its length, so that no two different lists give one text.
void append(std::string& out, std::string_view text) {
  out += fmt::format("{}:{};", text.size(), text);
}

void append(std::string& out, uint64_t number) {
  out += fmt::format("{};", number);
}

constexpr std::array<uint32_t, 256> makeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320u : 0);
    table[i] = value;
  }
  return table;
}

}  // namespace

std::string RankInfo::address() const {
  if (!hostIp.empty()) return hostIp;
  if (!deviceIps.empty()) return deviceIps.front();
  return IpAddress::parse(serverId) ? serverId : std::string();
}

std::vector<ServerGroup> Cluster::servers() const {
  std::vector<ServerGroup> groups;
  std::unordered_map<std::string_view, size_t> known;
  for (const RankInfo& info : ranks) {
    const auto [it, isNew] = known.try_emplace(info.serverId, groups.size());
    if (isNew) groups.push_back({info.serverId, info.superPodId, {}});
    groups[it->second].ranks.push_back(info.rank);
  }
  return groups;
}

std::vector<SuperPodGroup> Cluster::superPods() const {
  std::vector<SuperPodGroup> pods;
  const bool anyPod = std::any_of(ranks.begin(), ranks.end(),
                                  [](const RankInfo& info) { return !info.superPodId.empty(); });
  if (!anyPod) return pods;
  std::unordered_map<std::string, size_t> known;
  const std::vector<ServerGroup> groups = servers();
  for (uint32_t server = 0; server < groups.size(); ++server) {
    const ServerGroup& group = groups[server];
    const auto [it, isNew] = known.try_emplace(group.superPodId, pods.size());
    if (isNew) pods.push_back({group.superPodId, {}, {}});
    SuperPodGroup& pod = pods[it->second];
    pod.servers.push_back(server);
    pod.ranks.insert(pod.ranks.end(), group.ranks.begin(), group.ranks.end());
  }
  for (SuperPodGroup& pod : pods) std::sort(pod.ranks.begin(), pod.ranks.end());
  return pods;
}

uint32_t Cluster::serverIndex(uint32_t rank) const {
  std::unordered_set<std::string_view> before;
  const std::string& own = ranks[rank].serverId;
  for (const RankInfo& info : ranks) {
    if (info.serverId == own) break;
    before.insert(info.serverId);
  }
  return static_cast<uint32_t>(before.size());
}

uint32_t Cluster::localIndex(uint32_t rank) const {
  return static_cast<uint32_t>(
      std::count_if(ranks.begin(), ranks.begin() + rank,
                    [&](const RankInfo& info) { return info.serverId == ranks[rank].serverId; }));
}

uint32_t Cluster::superPodIndex(uint32_t rank) const {
  std::unordered_set<std::string_view> before;
  const std::string& own = ranks[rank].superPodId;
  for (const RankInfo& info : ranks) {
    if (info.superPodId == own) break;
    before.insert(info.superPodId);
  }
  return static_cast<uint32_t>(before.size());
}

bool Cluster::hasEqualServers() const {
  const std::vector<ServerGroup> groups = servers();
  return std::all_of(groups.begin(), groups.end(), [&](const ServerGroup& group) {
    return group.ranks.size() == groups.front().ranks.size();
  });
}

bool Cluster::hasContiguousServers() const {
  const std::vector<ServerGroup> groups = servers();
  return std::all_of(groups.begin(), groups.end(), [](const ServerGroup& group) {
    return group.ranks.back() - group.ranks.front() + 1 == group.ranks.size();
  });
}

Result<Cluster> Cluster::subset(std::span<const uint32_t> members) const {
  if (members.empty()) return Status(HCCL_E_PARA, "a communicator needs at least one rank");
  Cluster result;
  result.version = version;
  result.ranks.reserve(members.size());
  std::vector<bool> taken(ranks.size(), false);
  for (const uint32_t member : members) {
    if (member >= ranks.size()) {
      return Status(HCCL_E_PARA, fmt::format("rank {} is not in 0..{}", member, ranks.size() - 1));
    }
    if (taken[member]) return Status(HCCL_E_PARA, fmt::format("rank {} is named twice", member));
    taken[member] = true;
    result.ranks.push_back(ranks[member]);
    result.ranks.back().rank = static_cast<uint32_t>(result.ranks.size() - 1);
  }
  return result;
}

std::string Cluster::canonicalText() const {
  std::string out;
  append(out, version);
  append(out, ranks.size());
  for (const RankInfo& info : ranks) {
    append(out, info.rank);
    append(out, info.serverId);
    append(out, info.superPodId);
    append(out, info.deviceId);
    append(out, info.hostIp);
    append(out, info.deviceIps.size());
    for (const std::string& ip : info.deviceIps) append(out, ip);
    append(out, info.devicePort);
    append(out, info.hostPort);
    append(out, info.superDeviceId);
    append(out, info.hostNic ? 1 : 0);
    append(out, info.protocol);
    append(out, info.layers.size());
    for (const RankLayer& layer : info.layers) {
      append(out, layer.layer);
      append(out, layer.instanceId);
      append(out, layer.type);
    }
  }
  return out;
}

uint32_t Cluster::crc() const {
  return crc32(canonicalText());
}

uint32_t crc32(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = makeCrcTable();
  uint32_t value = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    value = (value >> 8) ^ kTable[(value ^ static_cast<uint8_t>(byte)) & 0xFF];
  }
  return ~value;
}

}  // namespace hccl
