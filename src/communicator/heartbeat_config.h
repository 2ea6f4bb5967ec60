// The part of a rank in the heartbeat, out of the environment and the cluster.
#pragma once

#include <vector>

#include "src/base/env.h"
#include "src/topology/cluster.h"
#include "transport/transport.h"

namespace hccl {

transport::HeartbeatConfig heartbeatConfig(const Environment& environment, const Cluster& cluster,
                                           uint32_t rank, const std::vector<uint32_t>& serverOf,
                                           double execTimeout);

// "ip/device", by which logs name a rank.
std::string rankName(const RankInfo& rank);

}  // namespace hccl
