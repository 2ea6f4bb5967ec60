#include "src/fault/heartbeat_ring.h"

#include <algorithm>
#include <map>
#include <set>

namespace hccl {
namespace {

// The ones before and after `rank` in the ring.
void addNeighbours(const std::vector<uint32_t>& ring, uint32_t rank, std::set<uint32_t>& found) {
  const auto at = std::find(ring.begin(), ring.end(), rank);
  if (at == ring.end() || ring.size() < 2) return;
  const auto place = static_cast<size_t>(at - ring.begin());
  found.insert(ring[(place + 1) % ring.size()]);
  found.insert(ring[(place + ring.size() - 1) % ring.size()]);
}

}  // namespace

std::vector<uint32_t> heartbeatNeighbours(uint32_t rank, const std::vector<uint32_t>& server,
                                          const std::vector<uint32_t>& device) {
  std::map<uint32_t, std::vector<uint32_t>> members;  // of each server, by device
  for (uint32_t r = 0; r < server.size(); ++r) members[server[r]].push_back(r);
  for (auto& [number, ranks] : members) {
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](uint32_t a, uint32_t b) { return device[a] < device[b]; });
  }
  std::set<uint32_t> found;
  const std::vector<uint32_t>& own = members[server[rank]];
  addNeighbours(own, rank, found);
  // Servers may differ in size: the ring of a place leaves out those that do not have it.
  const auto place = static_cast<size_t>(std::find(own.begin(), own.end(), rank) - own.begin());
  std::vector<uint32_t> across;
  for (const auto& [number, ranks] : members) {
    if (place < ranks.size()) across.push_back(ranks[place]);
  }
  addNeighbours(across, rank, found);
  return {found.begin(), found.end()};
}

}  // namespace hccl
