// RdmaLink: frames over reliable-connected queue pairs. The receiver owns a ring of cells; the
// sender writes a frame (header, then payload) cell by cell with RDMA write-with-immediate, each on
// one queue pair, against credits that persist across frames. Cells count up for ever; the
// immediate value tells which one has come, so cells on different queue pairs may overtake each
// other. A large frame in registered memory is offered with its header, and when the receiver
// answers with a place in registered memory, it is written there without any copy.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/rdma/link_failure.h"
#include "transport/rdma/link_wire.h"
#include "transport/rdma/memory_lease.h"
#include "transport/rdma/queue_set.h"
#include "transport/rdma/send_queues.h"
#include "transport/transport.h"

namespace hccl::transport::rdma {

class RdmaLink final : public MessageLink {
 public:
  using Names = LinkFailure::Names;
  struct Settings {
    uint64_t remoteRing = 0;                          // where the peer's cells begin
    std::vector<uint32_t> remoteKeys;                 // of them, by rail
    uint64_t stripeBytes = 512 * 1024;                // what a further queue pair is worth
    uint64_t directBytes = UINT64_MAX;                // least frame that is offered
    bool flags = false;                               // take the place of arrivals' completions
    int wakeSet = -1;                                 // epoll set of sleeping threads
    const std::atomic<uint32_t>* sleepers = nullptr;  // non-zero: completions must wake somebody
  };
  RdmaLink(std::shared_ptr<QueueSet> queues, Settings settings, Names names);
  ~RdmaLink() override;

  Io send(SendState& state) noexcept override;
  Io receive(ReceiveState& state) noexcept override;
  bool peek(FrameHeader& header) noexcept override;
  Status failure() const override { return failure_.status(); }
  uint64_t bytesSent() const override { return bytesSent_.load(std::memory_order_relaxed); }
  uint64_t bytesReceived() const override { return bytesReceived_.load(std::memory_order_relaxed); }
  // Waits until the peer's device has acknowledged everything.
  void flush(Deadline deadline) noexcept override;
  void abandon() noexcept override;

  void setPeerLeft() { failure_.setPeerLeft(); }
  // Fails, and tells, when a rail's port, device or object of the link becomes useless. Returns the
  // link's number among the users of the device.
  uint64_t watch(size_t rail, const PortChoice& port, Device::Report report);
  const QueueSet& queues() const { return *queues_; }
  // Frames that were written without copies.
  uint64_t framesWritten() const { return framesWritten_.load(std::memory_order_relaxed); }
  Status fail(const std::string& why, size_t rail = 0) { return failure_.fail(why, rail); }

 private:
  struct Slot {  // of the ring that is written from
    uint32_t queue = 0;
    uint64_t request = 0;  // it is free when the queue's requests up to this one have completed
  };
  enum class Stage { kCells, kOffered, kWriting };
  struct Outgoing {  // the frame that is being sent
    Stage stage = Stage::kCells;
    uint32_t cells = 0;                           // written so far
    uint32_t queues = 1;                          // that take part
    uint64_t posted = 0;                          // bytes without copies
    std::array<uint64_t, kMaxQueuePairs> last{};  // request of each queue pair
    Answer answer;
    MemoryLease memory;
  };
  struct Incoming {  // the frame that is being received
    bool isOffered = false;
    bool isAnswered = false;
    uint32_t queues = 0;  // that will tell their end
    uint32_t ends = 0;    // that have
    MemoryLease memory;
  };

  uint32_t depth() const { return queues_->shape().depth; }
  // Bytes of a cell that a frame may use. Where there are flags they lie at the end of that room,
  // so that the flag follows them.
  uint32_t cellRoom() const {
    return queues_->shape().cellBytes - (settings_.flags ? sizeof(uint64_t) : 0);
  }
  uint32_t startInCell(uint32_t bytes) const { return settings_.flags ? cellRoom() - bytes : 0; }
  const std::byte* arrivedCell(uint32_t slot) const {
    return queues_->target(slot) + startInCell(lengths_[slot]);
  }
  bool hasFailed() const { return failure_.hasFailed(); }

  // Cells (rdma_link_cells.cc).
  uint32_t queuesFor(uint64_t bytes) const;
  bool slotIsFree(uint64_t cell) const;
  void beginFrame(const SendState& state);
  bool writeCell(SendState& state);
  Io takeHeader(ReceiveState& state, const std::byte* cell);
  Io takeCell(ReceiveState& state);
  bool post(size_t queue, ibv_send_wr* request, bool signal);
  ibv_send_wr makeWrite(size_t queue, uint64_t offset) const;
  bool postSignal(size_t queue, ibv_send_wr* request, Signal kind, uint64_t number, bool signal);
  void returnCredits();
  void probe();
  void probeWhenQuiet(Io io);

  // Without copies (rdma_link_direct.cc).
  bool mayOffer(const SendState& state);
  uint64_t piecesOf(uint64_t bytes) const;
  void onAnswer();
  bool writePieces(SendState& state);
  bool postPiece(size_t queue, uint64_t bytes);
  void beginOffered(const FrameHeader& header);
  Io takeOffered(ReceiveState& state);
  bool answerOffer(const ReceiveState& state);
  void onEnd(uint32_t number);

  // Flags instead of completions (rdma_link_flags.cc).
  bool postWord(size_t queue, uint64_t offset, uint64_t value, bool signal);
  bool postFlagged(size_t queue, ibv_send_wr* request, Signal kind, uint64_t number, bool signal);
  bool wakePeer(size_t queue);
  void announceSleep();
  bool lookAtFlags();
  bool lookAtCells();

  // Completions (rdma_link_completions.cc).
  bool poll();
  bool poll(size_t rail);
  void arm(size_t rail);
  void onCompletion(const ibv_wc& completion, size_t rail);
  void onArrival(const ibv_wc& completion);
  void onCredits(uint32_t returned);
  void onCreditsUpTo(uint64_t total);
  void onCell(uint32_t number, uint32_t bytes);

  const std::shared_ptr<QueueSet> queues_;
  const Settings settings_;
  LinkFailure failure_;
  std::vector<uint64_t> deviceUsers_;  // by rail

  std::mutex mutex_;  // of everything up to the counters
  SendQueues sends_;
  std::vector<Slot> slots_;
  uint64_t written_ = 0;   // cells
  uint64_t credited_ = 0;  // cells that the peer has given back
  uint64_t framesSent_ = 0;
  Outgoing out_;
  std::vector<uint8_t> arrived_;
  std::vector<uint32_t> lengths_;         // of cells that have arrived
  uint64_t seen_ = 0;                     // cells whose flags have been seen
  uint64_t sleeps_ = 0, peerSleeps_ = 0;  // as announced, and as answered by a wake-up
  bool isAwaitingWake_ = false;
  uint64_t read_ = 0;      // cells
  uint64_t returned_ = 0;  // of them, as the peer has been told
  uint64_t framesReceived_ = 0;
  Incoming in_;
  std::vector<uint8_t> armed_;  // by rail
  uint64_t quietSince_ = 0;

  std::atomic<uint64_t> bytesSent_{0}, bytesReceived_{0}, framesWritten_{0};
};

}  // namespace hccl::transport::rdma
