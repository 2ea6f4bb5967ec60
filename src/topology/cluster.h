// Cluster: who takes part in a communicator and where each rank runs. Plain data, made from a rank
// table or by the root-info rendezvous, equal on all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace hccl {

// One layer of a 2.0 rank table: the instance (a server, a pod, a fabric) that the rank belongs to.
struct RankLayer {
  uint32_t layer = 0;
  std::string instanceId;
  std::string type;  // "TOPO_FILE_DESC", "CLOS", ...
  bool operator==(const RankLayer&) const = default;
};

struct RankInfo {
  uint32_t rank = 0;
  std::string serverId;
  std::string superPodId;  // empty: no super-pods
  uint32_t deviceId = 0;   // physical
  std::string hostIp;      // empty: not known
  std::vector<std::string> deviceIps;
  uint16_t devicePort = 0;  // 0: not set
  uint16_t hostPort = 0;    // 0: not set
  std::string superDeviceId;
  bool hostNic = false;           // the data plane uses the host's network card
  std::string protocol;           // data plane: "" (free choice), "rdma" or "tcp"
  std::vector<RankLayer> layers;  // 2.0 tables only
  // What the communicator tells its peers (addresses of its channels). Opaque here; no part of a
  // table's identity.
  std::string endpoint;

  // The IP by which other hosts reach the rank: hostIp, else the first device IP, else serverId
  // when it is an address; empty when there is none.
  std::string address() const;
  bool operator==(const RankInfo&) const = default;
};

// The ranks of a server, ascending.
struct ServerGroup {
  std::string id;
  std::string superPodId;
  std::vector<uint32_t> ranks;
};

// The servers of a super-pod, as indices into Cluster::servers(), and their ranks, ascending.
struct SuperPodGroup {
  std::string id;
  std::vector<uint32_t> servers;
  std::vector<uint32_t> ranks;
};

struct Cluster {
  std::string version;          // of the rank table; empty after a root-info rendezvous
  std::vector<RankInfo> ranks;  // ranks[i].rank == i

  uint32_t size() const { return static_cast<uint32_t>(ranks.size()); }
  // In the order of their lowest rank.
  std::vector<ServerGroup> servers() const;
  // In the order of their lowest rank; empty when no rank names a super-pod.
  std::vector<SuperPodGroup> superPods() const;
  // Position of the rank's server in servers(), of the rank in its server, of its super-pod in
  // superPods() (0 when there are none). `rank` is below size().
  uint32_t serverIndex(uint32_t rank) const;
  uint32_t localIndex(uint32_t rank) const;
  uint32_t superPodIndex(uint32_t rank) const;
  // All servers have the same number of ranks.
  bool hasEqualServers() const;
  // Each server's ranks are consecutive numbers.
  bool hasContiguousServers() const;

  // The cluster of a sub-communicator: member i is ranks[members[i]] renumbered to i. Errors:
  // HCCL_E_PARA for an empty list, a rank that does not exist or is named twice.
  Result<Cluster> subset(std::span<const uint32_t> members) const;

  // A text that is equal for equal clusters (endpoints left out): base of the rank-table CRC and of
  // the rendezvous secret of rank-table communicators.
  std::string canonicalText() const;
  // CRC-32 (ISO-HDLC) of canonicalText().
  uint32_t crc() const;
};

uint32_t crc32(std::string_view bytes);

// The rules that every rank applies to the table it received (ranks 0..n-1 once each, no device IP
// twice when there are several servers, no device twice in a server, valid and unique super device
// ids, one NIC deployment). `expected` is the number of ranks that the caller asked for.
// Errors: HCCL_E_PARA, EI0014 or EI0015, the text names ranks, devices and servers.
Status verifyCluster(const Cluster& cluster, uint32_t expected);

}  // namespace hccl
