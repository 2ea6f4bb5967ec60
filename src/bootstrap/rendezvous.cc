#include "src/bootstrap/rendezvous.h"

#include <fmt/core.h>

#include "src/base/env.h"
#include "src/base/interfaces.h"
#include "src/bootstrap/agent.h"
#include "src/bootstrap/records.h"
#include "src/fault/ei_errors.h"

namespace hccl {
namespace {

Deadline verdictDeadline(Deadline deadline, const JoinOptions& options) {
  if (deadline.isNever()) return deadline;
  return Deadline::after(deadline.remainingSeconds() + options.verdictGraceSeconds);
}

bootstrap::RootTarget targetOf(const RootHandle& root, const RankInfo& mine,
                               const JoinOptions& options) {
  bootstrap::RootTarget target;
  target.addresses = {root.address};
  target.secret = root.secret;
  target.version = options.version;
  target.localAddress = mine.address();
  return target;
}

}  // namespace

Result<Cluster> joinRoot(const RootHandle& root, uint32_t nRanks, uint32_t rank,
                         const RankInfo& mine, const std::string& agreed, Deadline deadline,
                         const JoinOptions& options) {
  return joinRoots(std::span(&root, 1), nRanks, rank, mine, agreed, deadline, options);
}

Result<Cluster> joinRoots(std::span<const RootHandle> roots, uint32_t nRanks, uint32_t rank,
                          const RankInfo& mine, const std::string& agreed, Deadline deadline,
                          const JoinOptions& options) {
  if (roots.empty() || roots.size() > nRanks) {
    return Status(HCCL_E_PARA, fmt::format("{} roots for {} ranks", roots.size(), nRanks));
  }
  bootstrap::JoinRecord record;
  record.rankCount = nRanks;
  record.rank = rank;
  record.rootCount = static_cast<uint32_t>(roots.size());
  record.rootIndex = rank % record.rootCount;
  record.ranks = {mine};
  record.ranks.front().rank = rank;
  record.agreed = agreed;
  record.group = options.group.empty() ? roots.front().identifier : options.group;
  const bootstrap::RootTarget target = targetOf(roots[record.rootIndex], mine, options);
  const Deadline last = verdictDeadline(deadline, options);
  // The leader of a group carries its list to the first root.
  const bootstrap::MergePlan merge{targetOf(roots.front(), mine, options), last};
  const bool isLeader = record.rootIndex != 0 && rank == record.rootIndex;
  Cluster cluster;
  HCCL_ASSIGN_OR_RETURN(cluster.ranks, bootstrap::joinThrough(target, record, deadline, last,
                                                              isLeader ? &merge : nullptr));
  HCCL_RETURN_IF_ERROR(verifyCluster(cluster, nRanks));
  return cluster;
}

Result<RankInfo> describeSelf(uint32_t rank, uint32_t deviceId, const Environment& environment) {
  HCCL_ASSIGN_OR_RETURN(const HostNic nic, hostNic(environment));
  RankInfo info;
  info.rank = rank;
  info.deviceId = deviceId;
  info.hostIp =
      nic.ip.isV6() && nic.ip.isLinkLocal() ? nic.ip.toStringWithIfname() : nic.ip.toString();
  info.serverId = info.hostIp;
  if (!environment.logicSuperPodId.empty()) {
    info.serverId += "_" + environment.logicSuperPodId;
    info.superPodId = environment.logicSuperPodId;
  }
  info.hostNic = true;
  return info;
}

}  // namespace hccl
