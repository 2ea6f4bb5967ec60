#include "src/communicator/heartbeat_config.h"

#include <fmt/core.h>

#include "src/fault/heartbeat_ring.h"

namespace hccl {

std::string rankName(const RankInfo& rank) {
  const std::string address = rank.address();
  return fmt::format("{}/{}", address.empty() ? rank.serverId : address, rank.deviceId);
}

transport::HeartbeatConfig heartbeatConfig(const Environment& environment, const Cluster& cluster,
                                           uint32_t rank, const std::vector<uint32_t>& serverOf,
                                           double execTimeout) {
  transport::HeartbeatConfig config;
  if (!environment.dfs.clusterHeartbeat) return config;
  config.periodMs = environment.hostHeartbeatMs;
  config.lostMs = environment.hostHeartbeatLostMs;
  config.stuckMs = environment.stuckMs(execTimeout);
  std::vector<uint32_t> devices;
  for (const RankInfo& info : cluster.ranks) {
    devices.push_back(info.deviceId);
    config.names.push_back(rankName(info));
  }
  config.neighbours = heartbeatNeighbours(rank, serverOf, devices);
  return config;
}

}  // namespace hccl
