// The rendezvous: every rank of a new communicator tells where it is and receives the whole
// cluster. All functions block the caller and are collective over the ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/bootstrap/root_info.h"
#include "src/topology/cluster.h"

namespace hccl {

struct JoinOptions {
  // How long after the deadline an agent that reached the root still waits for its verdict.
  double verdictGraceSeconds = 20;
  std::string group;  // communicator name for error texts; empty: the default
  const Environment* environment = nullptr;  // nullptr: environment() (joinByTable)
  uint32_t version = kBootstrapVersion;      // tests only
};

// Joins the communicator of `root` as `rank` of `nRanks`. `mine` describes this rank (its rank
// field is overwritten). `agreed` is a JSON object whose values must be equal on all ranks, for
// instance
// {"bufferSize":200,"deterministic":0}; it may be empty. The result is verified (verifyCluster) and
// holds every rank's `mine`, endpoints included.
// Errors, on every rank that reached the root: EI0005 HCCL_E_PARA (a key of `agreed` differs: names
// key, both values, both ranks), EI0008 (library versions), EI0015 HCCL_E_TIMEOUT (missing ranks),
// EI0015 HCCL_E_PARA (rank twice, rank >= nRanks, differing nRanks), EI0015 HCCL_E_TCP_TRANSFER (a
// member or the root died; Status::culprit() is the rank). A rank that cannot reach the root:
// EI0015 HCCL_E_TIMEOUT.
Result<Cluster> joinRoot(const RootHandle& root, uint32_t nRanks, uint32_t rank,
                         const RankInfo& mine, const std::string& agreed, Deadline deadline,
                         const JoinOptions& options = {});

// The same through several roots: rank r uses roots[r % size]; the groups meet at roots[0]. All
// ranks pass the same list in the same order. Errors: also HCCL_E_PARA when there are no roots or
// more roots than ranks.
Result<Cluster> joinRoots(std::span<const RootHandle> roots, uint32_t nRanks, uint32_t rank,
                          const RankInfo& mine, const std::string& agreed, Deadline deadline,
                          const JoinOptions& options = {});

// The rendezvous of a rank-table communicator: exchanges the endpoints that a table cannot know.
// Rank 0 serves, on its address and port by docs/ranktable.md; the secret is derived from the
// table, so that only processes with an equal table meet. `mine` is the own entry with its endpoint
// filled in. The result is `table` with every rank's endpoint. Errors: as joinRoot, EI0019 with
// HCCL_E_UNAVAIL when the port belongs to another program or to a job with another table.
Result<Cluster> joinByTable(const Cluster& table, uint32_t rank, const RankInfo& mine,
                            const std::string& agreed, Deadline deadline,
                            const JoinOptions& options = {});

// This rank for a root-info communicator: address by hostNic(), server id = address (with
// "_<HCCL_LOGIC_SUPERPOD_ID>" when set), data plane on the host's network card.
Result<RankInfo> describeSelf(uint32_t rank, uint32_t deviceId, const Environment& environment);

}  // namespace hccl
