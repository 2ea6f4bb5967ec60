// Topologies for tests of the plan room.
#pragma once

#include <vector>

#include "src/plan/topology.h"

namespace hccl::test {

// Ranks of each server, servers of each super-pod (none: one).
inline plan::Topology clusterOf(const std::vector<uint32_t>& servers,
                                const std::vector<uint32_t>& superPods = {}) {
  std::vector<uint32_t> podOfServer(servers.size(), 0);
  uint32_t next = 0;
  for (uint32_t pod = 0; pod < superPods.size(); ++pod) {
    for (uint32_t i = 0; i < superPods[pod]; ++i) podOfServer[next++] = pod;
  }
  std::vector<uint32_t> serverOf;
  std::vector<uint32_t> podOf;
  for (uint32_t s = 0; s < servers.size(); ++s) {
    serverOf.insert(serverOf.end(), servers[s], s);
    podOf.insert(podOf.end(), servers[s], podOfServer[s]);
  }
  return plan::Topology::fromServers(serverOf, podOf);
}

}  // namespace hccl::test
