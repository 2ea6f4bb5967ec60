// Who exchanges heartbeats with whom: a ring in each server by device number, and rings over the
// servers of the ranks that have the same place in theirs.
#pragma once

#include <cstdint>
#include <vector>

namespace hccl {

// The neighbours of `rank`, ascending and each once. server[r] and device[r] belong to rank r.
std::vector<uint32_t> heartbeatNeighbours(uint32_t rank, const std::vector<uint32_t>& server,
                                          const std::vector<uint32_t>& device);

}  // namespace hccl
