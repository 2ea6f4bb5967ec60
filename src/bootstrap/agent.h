// The agent's side of a rendezvous connection: blocking with deadlines, in the caller's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/base/fd.h"
#include "src/base/ip_address.h"
#include "src/base/status.h"
#include "src/bootstrap/records.h"
#include "src/bootstrap/wire.h"

namespace hccl::bootstrap {

// A connection on which both sides have proved the secret.
class Agent {
 public:
  Agent(UniqueFd fd, SocketAddress peer, Session session)
      : fd_(std::move(fd)), peer_(std::move(peer)), session_(session) {}

  struct Frame {
    FrameType type{};
    std::string body;
  };
  Status send(FrameType type, const std::string& body, Deadline deadline);
  Result<Frame> receive(Deadline deadline);
  const SocketAddress& peer() const { return peer_; }

 private:
  UniqueFd fd_;
  SocketAddress peer_;
  Session session_;
};

// Where a root may be, and what tells that it is the right one.
struct RootTarget {
  std::vector<SocketAddress> addresses;  // tried in turn
  Digest secret{};
  uint32_t version = 0;
  // A program without the secret at every address: give up after this time rather than at the
  // deadline.
  double strangerSeconds = 5;
  double attemptSeconds = 10;  // to connect and to prove
  std::string localAddress;    // for error texts
};

// Connects, again and again until the deadline: the root may start later. Errors: EI0015
// HCCL_E_TIMEOUT (nobody there), EI0019 HCCL_E_UNAVAIL (somebody else there), EI0008 (versions).
Result<Agent> reachRoot(const RootTarget& target, Deadline deadline);

// Joins with `record` and waits for the verdict; a leader merges its group through `first`.
// `verdictDeadline` bounds the whole.
struct MergePlan {
  RootTarget first;
  Deadline deadline = Deadline::never();
};
Result<std::vector<RankInfo>> joinThrough(const RootTarget& target, const JoinRecord& record,
                                          Deadline deadline, Deadline verdictDeadline,
                                          const MergePlan* merge = nullptr);

}  // namespace hccl::bootstrap
