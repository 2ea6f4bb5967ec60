// Context: what the operations of one communicator rank share: peers with their signal counters,
// staging memory, the order of operations, and the first failure.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/fault/recorder.h"
#include "src/runtime/arena.h"
#include "transport/transport.h"

namespace hccl::executor {

// A region of the device's arena that grows when an operation needs more. Only the operation whose
// turn it is touches it.
class Staging {
 public:
  explicit Staging(int32_t device) : device_(device) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  Status reserve(size_t bytes);
  std::byte* data() const { return data_; }
  uint64_t offset() const { return offset_; }
  size_t size() const { return size_; }

 private:
  int32_t device_;
  std::byte* data_ = nullptr;
  uint64_t offset_ = 0;
  size_t size_ = 0;
};

// A peer of collectives. Counters are this rank's view of the monotonic signals of the pair; they
// are never reset while the communicator lives.
struct Peer {
  uint32_t rank = 0;
  transport::Link* link = nullptr;
  transport::DirectLink* direct = nullptr;
  transport::MessageLink* message = nullptr;
  uint64_t opensSent = 0;
  uint64_t opensSeen = 0;
  uint64_t closesSent = 0;
  uint64_t closesSeen = 0;
  uint64_t operations = 0;  // collectives that this pair took part in together

  // Of the operation that runs: where the peer's windows are in this process.
  bool entrySeen = false;
  bool isOpenGiven = false;  // with the entry: the first open step is done
  bool isOpenSeen = false;   // the same of the peer
  // The input went along with the entry, to the peer or from it: nobody waits for its closing.
  bool isInlinedTo = false;
  bool isInlinedFrom = false;
  bool isRingDue = false;
  // The operation, as its number and 1, in which what the peer said is what this rank does; and in
  // which it is not, with what it said.
  uint64_t agreedIn = 0;
  uint64_t differedIn = 0;
  uint64_t saidSequence = 0;
  uint64_t saidSignature = 0;
  uint64_t saidCount = 0;
  bool inputStaged = false;
  bool outputStaged = false;
  uint64_t plainInput =
      0;  // address in the peer's process of an input that has to be read; 0: none
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
  uint64_t slotBytes = 0;
  uint32_t framesSent = 0;
  uint32_t framesReceived = 0;
};

// Point-to-point state of a peer and direction. Transfers of a direction run one after the other.
struct PairLane {
  std::atomic<uint64_t> tickets{0};  // taken at the API call
  std::atomic<uint64_t> turn{0};     // ticket whose transfer may run
  uint64_t pieces = 0;               // of the direction so far (sendOpen or recvClose counter)
  std::unique_ptr<Staging> staging;  // sender's, for memory that the peer cannot reach
};

struct PointToPointPeer {
  transport::Link* link = nullptr;
  PairLane send;
  PairLane receive;
};

class Context {
 public:
  Context(std::string name, uint32_t rank, uint32_t rankCount, int32_t device,
          transport::Links* links,
          std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>());

  const std::string& name() const { return name_; }
  uint32_t rank() const { return rank_; }
  uint32_t rankCount() const { return rankCount_; }
  int32_t device() const { return device_; }
  transport::Links* links() const { return links_; }
  Staging& staging() { return staging_; }
  Recorder& recorder() { return *recorder_; }

  // Makes the links of `peers`; afterwards peer(r) and pointToPoint(r) are complete. Called under
  // the communicator's API lock.
  Status connect(const std::vector<uint32_t>& peers, transport::LinkKind kind, Deadline deadline);
  Peer& peer(uint32_t rank) { return *peers_[rank]; }
  PointToPointPeer& pointToPoint(uint32_t rank) { return *pairs_[rank]; }

  // Operations start in the order of their numbers and one at a time.
  uint64_t takeSequence() { return nextSequence_++; }  // under the API lock
  bool isTurn(uint64_t sequence) const { return turn_.load(std::memory_order_acquire) == sequence; }
  void endTurn();

  // The first cause wins. After it every operation ends with it.
  void fail(const Status& cause);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Status failure() const;
  // Called once, by whichever thread finds the failure. Set before the first operation.
  void onFailure(std::function<void(const Status&)> callback) {
    failureCallback_ = std::move(callback);
  }

  // Seconds that an operation waits for a peer without any progress; 0 = for ever.
  void setExecTimeout(double seconds) { execTimeout_.store(seconds, std::memory_order_relaxed); }
  double execTimeout() const { return execTimeout_.load(std::memory_order_relaxed); }

 private:
  const std::string name_;
  const uint32_t rank_;
  const uint32_t rankCount_;
  const int32_t device_;
  transport::Links* const links_;
  Staging staging_;
  const std::shared_ptr<Recorder> recorder_;  // its readers may outlive this object
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<PointToPointPeer>> pairs_;
  uint64_t nextSequence_ = 0;
  std::atomic<uint64_t> turn_{0};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  Status failure_;
  std::function<void(const Status&)> failureCallback_;
  std::atomic<double> execTimeout_{1836};
};

}  // namespace hccl::executor
