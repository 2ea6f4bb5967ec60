// Communicator: one rank of a communicator. Turns validated calls into launches on streams.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hccl/hccl_types.h"
#include "src/base/env.h"
#include "src/base/status.h"
#include "src/communicator/flight.h"
#include "src/executor/tasks.h"
#include "src/plan/chooser.h"
#include "src/plan/op.h"
#include "src/plan/plan.h"
#include "src/plan/topology.h"
#include "src/reduce/reduce.h"
#include "src/runtime/stream.h"
#include "src/topology/cluster.h"
#include "transport/transport.h"

namespace hccl {

// What is in force for a communicator: HcclCommConfig over the environment over defaults.
struct CommSettings {
  uint64_t bufferBytes = 200ULL << 20;
  uint32_t deterministic = 0;            // 0, 1, 2 (strict)
  bool deterministicFromConfig = false;  // HcclSetConfig does not change it then
  std::string name;                      // empty: the initialisation call's default
  std::string userInformation = "Unspecified";
  uint32_t opExpansionMode = 0;
  uint32_t rdmaTrafficClass = 132;
  uint32_t rdmaServiceLevel = 4;
  uint32_t worldRank = 0xffffffff;
  uint64_t jobId = 0;
  bool aclGraphZeroCopy = false;
  double execTimeoutSec = 1836;
  AlgoConfig algo;
  std::shared_ptr<const AlgoTable> algoTable;  // nullptr: none
  RetryEnable retryEnable;
  RetryParams retryParams;
  std::string bufferName;
  uint32_t qos = 0xffffffff;
  uint64_t symWinMaxGb = 16;
  uint32_t channelSqDepth = 0xffffffff;
};

// A collective after validation. Buffers may be NULL where the operation has none on this rank.
struct CollectiveCall {
  HcclCMDType type = HCCL_CMD_ALLREDUCE;
  const void* send = nullptr;
  void* recv = nullptr;  // Broadcast: send == recv == buf
  uint64_t count = 0;    // as in OpDesc; V operations: ignored
  HcclDataType dataType = HCCL_DATA_TYPE_FP32;
  HcclReduceOp reduceOp = HCCL_REDUCE_RESERVED;
  uint32_t root = 0;
  // By rank, n entries, host memory, read during the call. AlltoAllV and AlltoAllVC: all four (VC:
  // this rank's row and column, packed displacements). ReduceScatterV: send*; AllGatherV: recv*.
  const uint64_t* sendCounts = nullptr;
  const uint64_t* sendDispls = nullptr;
  const uint64_t* recvCounts = nullptr;
  const uint64_t* recvDispls = nullptr;
};

struct CommunicatorParams {
  std::string name;
  Cluster cluster;  // endpoints filled in
  uint32_t rank = 0;
  int32_t device = 0;
  CommSettings settings;
  std::string secret;  // proves membership to peers; same on all ranks
  bool isSubComm = false;
  std::string parent;
  std::vector<uint32_t> worldRanks;  // of the members, in the parent (sub-communicators)
};

class Communicator {
 public:
  static Result<std::shared_ptr<Communicator>> create(CommunicatorParams params);
  ~Communicator();

  const std::string& name() const { return params_.name; }
  uint32_t rank() const { return params_.rank; }
  uint32_t size() const { return params_.cluster.size(); }
  int32_t device() const { return params_.device; }
  const Cluster& cluster() const { return params_.cluster; }
  const CommSettings& settings() const { return params_.settings; }
  const std::string& secret() const { return params_.secret; }
  bool isSubComm() const { return params_.isSubComm; }
  const std::string& parent() const { return params_.parent; }  // of a sub-communicator
  const std::vector<uint32_t>& worldRanks() const { return params_.worldRanks; }

  // Enqueue on the stream and return. Arguments have been validated for what api.md says (types,
  // ranks, NULL); overlap of buffers is checked here (EI0003). Errors also: first link set-up
  // (EI0006...), a failed communicator (its first cause), E_SUSPENDING.
  Status collective(const CollectiveCall& call, runtime::Stream* stream);
  // Self transfers are matched in list order. Item fields but the ticket are filled in by the
  // caller.
  Status transfers(const std::vector<executor::TransferItem>& items, runtime::Stream* stream);

  // The first asynchronous failure, or OK.
  Status asyncError() const;
  // Operations that are on streams and not finished.
  size_t pending() const;
  // Waits (bounded) for pending operations of a failed communicator, closes the links. After it the
  // object answers every call with E_UNAVAIL.
  Status shutdown();
  // Makes link set-up in progress give up.
  void cancel() { links_->cancel(); }

  void setDeterministic(uint32_t level);
  void suspend() { suspended_.store(true); }
  void resume() { suspended_.store(false); }
  bool suspended() const { return suspended_.load(); }

  // The staging region that is exposed as "HCCL buffer".
  Result<std::pair<void*, uint64_t>> stagingBuffer();
  // A pointer in this process to `remote` (an address in the peer's process given as arena offset
  // or, for ranks of one process, as address; see transport::BufferRef); E_NOT_SUPPORT when the
  // peer's memory cannot be mapped.
  Result<std::byte*> peerPointer(uint32_t peer, uint64_t bufferRef, uint64_t bytes);

  // Its operations and its state, for diagnosis.
  std::shared_ptr<const Flight> flight() const { return flight_; }

  // The algorithm text of the last plan that was looked up for a type (tests, diagnosis); empty if
  // none.
  std::string lastAlgorithm(HcclCMDType type) const;
  // Bytes sent and received through message links to ranks of other servers so far (tests).
  std::pair<uint64_t, uint64_t> interServerBytes() const;

 private:
  explicit Communicator(CommunicatorParams params);

  struct PlanKey {
    uint8_t type;
    uint32_t root;
    uint32_t choice;  // plan::Choice::key()
    bool operator<(const PlanKey& other) const {
      return std::tie(type, root, choice) < std::tie(other.type, other.root, other.choice);
    }
  };
  struct CachedPlan {
    const char* algorithm = "";  // its name, which lasts
    std::shared_ptr<const plan::Plan> plan;
  };

  // What an operation runs with. An operation like one of the last needs no look at algorithms.
  struct Decision {
    plan::OpDesc op;
    const CachedPlan* plan = nullptr;  // nullptr: nothing here
    uint64_t chunkBytes = 0;
  };

  Status open();
  Result<const Decision*> decide(const plan::OpDesc& op);
  Status enqueueCollective(const CollectiveCall& call, runtime::Stream* stream);
  Status enqueueTransfers(const std::vector<executor::TransferItem>& items,
                          runtime::Stream* stream);
  Result<const CachedPlan*> planFor(const plan::OpDesc& op, const plan::Choice& choice);
  void logChoice(const plan::OpDesc& op, const plan::Choice& choice,
                 const CachedPlan& cached) const;
  // Joins failure news of links and context; outlives both, since the control thread may be calling
  // it.
  struct Alarm {
    std::recursive_mutex mutex;
    transport::Links* links = nullptr;
    executor::Context* context = nullptr;

    void raise(const Status& cause) {
      std::lock_guard lock(mutex);
      if (context != nullptr) context->fail(cause);
    }
    void spread(const Status& cause) {
      std::lock_guard lock(mutex);
      if (links != nullptr) links->abort(cause);
    }
    std::vector<std::string> exceptionLocations() {
      std::lock_guard lock(mutex);
      return links != nullptr ? links->exceptionLocations() : std::vector<std::string>();
    }
    void disarm() {
      std::lock_guard lock(mutex);
      links = nullptr;
      context = nullptr;
    }
  };

  Status usable() const;
  Status connectPeers(const std::vector<uint32_t>& peers, transport::LinkKind kind);
  Deadline linkDeadline() const;

  CommunicatorParams params_;
  plan::Topology topology_;
  std::unique_ptr<plan::Chooser> chooser_;
  bool sharesMemory_ = false;  // all ranks do
  std::unique_ptr<transport::Links> links_;
  std::unique_ptr<executor::Context> context_;
  std::unique_ptr<executor::TaskPool> tasks_;
  std::shared_ptr<Alarm> alarm_;
  std::shared_ptr<Flight> flight_;
  mutable std::mutex mutex_;  // API calls on one communicator are ordered by it
  std::map<PlanKey, CachedPlan> plans_;
  std::array<Decision, 16> decisions_;  // of late; a place by operation and count
  std::array<std::shared_ptr<const plan::Plan>, 256> lastPlan_;
  std::unique_ptr<executor::Staging> userBuffer_;
  std::atomic<bool> suspended_{false};
  std::atomic<bool> closed_{false};
};

// The [Communicator Key Info] and [LocalRank Key Info] run-log lines.
void logKeyInfo(const Communicator& communicator);

}  // namespace hccl
