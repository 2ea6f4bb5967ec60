// Topology: how the ranks of a communicator are grouped. Data only; made from the rank table or
// from what the ranks told each other, and equal on all of them.
#pragma once

#include <cstdint>
#include <vector>

namespace hccl::plan {

struct Topology {
  uint32_t rankCount = 1;
  std::vector<std::vector<uint32_t>>
      servers;                       // ranks of each server, ascending; servers by first rank
  std::vector<uint32_t> serverOf;    // by rank
  std::vector<uint32_t> localIndex;  // by rank: position inside its server
  // Servers of each super-pod, ascending; super-pods by first server. One that holds all servers
  // where there are none.
  std::vector<std::vector<uint32_t>> superPods;
  std::vector<uint32_t> superPodOf;  // by server

  static Topology flat(uint32_t rankCount) {
    std::vector<uint32_t> serverOf(rankCount, 0);
    return fromServers(serverOf);
  }
  // serverOf[r]: any server number of rank r.
  static Topology fromServers(const std::vector<uint32_t>& serverOf);

  // Also superPodOf[r]: any super-pod number of rank r. A server lies in the super-pod of its first
  // rank.
  static Topology fromServers(const std::vector<uint32_t>& serverOf,
                              const std::vector<uint32_t>& superPodOf);

  // Every server has the same number of ranks.
  bool uniform() const;
  // Every super-pod has the same number of servers.
  bool uniformSuperPods() const;
};

}  // namespace hccl::plan
