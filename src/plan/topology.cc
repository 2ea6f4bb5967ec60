#include "src/plan/topology.h"

#include <algorithm>
#include <map>

namespace hccl::plan {

Topology Topology::fromServers(const std::vector<uint32_t>& serverOf) {
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
  return t;
}

bool Topology::uniform() const {
  return std::all_of(servers.begin(), servers.end(), [this](const std::vector<uint32_t>& server) {
    return server.size() == servers[0].size();
  });
}

}  // namespace hccl::plan
