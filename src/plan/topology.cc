#include "src/plan/topology.h"

#include <algorithm>
#include <map>

namespace hccl::plan {
namespace {

bool equallyLarge(const std::vector<std::vector<uint32_t>>& groups) {
  return std::all_of(groups.begin(), groups.end(), [&](const std::vector<uint32_t>& group) {
    return group.size() == groups[0].size();
  });
}

}  // namespace

Topology Topology::fromServers(const std::vector<uint32_t>& serverOf) {
  return fromServers(serverOf, std::vector<uint32_t>(serverOf.size(), 0));
}

Topology Topology::fromServers(const std::vector<uint32_t>& serverOf,
                               const std::vector<uint32_t>& superPodOf) {
  Topology t;
  t.rankCount = static_cast<uint32_t>(serverOf.size());
  t.serverOf.resize(serverOf.size());
  t.localIndex.resize(serverOf.size());
  std::map<uint32_t, uint32_t> number;  // caller's number -> ours, by first rank
  for (uint32_t rank = 0; rank < serverOf.size(); ++rank) {
    const auto [it, fresh] =
        number.emplace(serverOf[rank], static_cast<uint32_t>(t.servers.size()));
    if (fresh) t.servers.emplace_back();
    t.serverOf[rank] = it->second;
    t.localIndex[rank] = static_cast<uint32_t>(t.servers[it->second].size());
    t.servers[it->second].push_back(rank);
  }
  std::map<uint32_t, uint32_t> podNumber;
  for (uint32_t server = 0; server < t.servers.size(); ++server) {
    const auto [it, fresh] = podNumber.emplace(superPodOf[t.servers[server][0]],
                                               static_cast<uint32_t>(t.superPods.size()));
    if (fresh) t.superPods.emplace_back();
    t.superPodOf.push_back(it->second);
    t.superPods[it->second].push_back(server);
  }
  return t;
}

bool Topology::uniform() const {
  return equallyLarge(servers);
}

bool Topology::uniformSuperPods() const {
  return equallyLarge(superPods);
}

}  // namespace hccl::plan
