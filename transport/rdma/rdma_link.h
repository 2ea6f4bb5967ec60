// RdmaLink: frames over reliable-connected queue pairs. The receiver owns a ring of cells; the
// sender writes a frame (header, then payload) cell by cell with RDMA write-with-immediate, each on
// one queue pair, against credits that persist across frames. Cells count up for ever; the
// immediate value tells which one has come, so cells on different queue pairs may overtake each
// other.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/rdma/queue_set.h"
#include "transport/transport.h"

namespace hccl::transport::rdma {

// The immediate value: kind, credits that are given back, number of the cell (its low bits).
struct Immediate {
  static constexpr uint32_t kCreditsOnly = 1U << 31;
  static constexpr uint32_t kCellBits = 20;
  static constexpr uint32_t kMaxCredits = (1U << 11) - 1;
  static uint32_t make(bool creditsOnly, uint32_t credits, uint64_t cell) {
    return (creditsOnly ? kCreditsOnly : 0) | credits << kCellBits |
           static_cast<uint32_t>(cell & ((1U << kCellBits) - 1));
  }
  explicit Immediate(uint32_t value)
      : creditsOnly((value & kCreditsOnly) != 0),
        credits(value >> kCellBits & kMaxCredits),
        cell(value & ((1U << kCellBits) - 1)) {}
  bool creditsOnly;
  uint32_t credits;
  uint32_t cell;
};

class RdmaLink final : public MessageLink {
 public:
  // For error texts.
  struct End {
    std::string server;            // its address
    int32_t device = 0;            // logical one
    std::vector<std::string> ips;  // of the RDMA ports, by rail
  };
  struct Names {
    uint32_t peer = 0;
    std::string communicator;
    End local, remote;
  };
  struct Settings {
    uint64_t remoteRing = 0;                          // where the peer's cells begin
    std::vector<uint32_t> remoteKeys;                 // of them, by rail
    uint64_t stripeBytes = 512 * 1024;                // what a further queue pair is worth
    int wakeSet = -1;                                 // epoll set of sleeping threads
    const std::atomic<uint32_t>* sleepers = nullptr;  // non-zero: completions must wake somebody
  };
  RdmaLink(std::shared_ptr<QueueSet> queues, Settings settings, Names names);
  ~RdmaLink() override;

  Io send(SendState& state) noexcept override;
  Io receive(ReceiveState& state) noexcept override;
  bool peek(FrameHeader& header) noexcept override;
  Status failure() const override;
  uint64_t bytesSent() const override { return bytesSent_.load(std::memory_order_relaxed); }
  uint64_t bytesReceived() const override { return bytesReceived_.load(std::memory_order_relaxed); }
  // Waits until the peer's device has acknowledged everything.
  void flush(Deadline deadline) noexcept override;

  // The peer said goodbye: an error after that is its end.
  void setPeerLeft() { peerLeft_.store(true, std::memory_order_relaxed); }
  // Fails, and tells, when a rail's port, device or object of the link becomes useless. Returns the
  // link's number among the users of the device.
  uint64_t watch(size_t rail, const PortChoice& port, Device::Report report);
  const QueueSet& queues() const { return *queues_; }
  // The first cause counts; returns it.
  Status fail(const std::string& why, size_t rail = 0);

 private:
  struct Queue {
    uint64_t posted = 0;     // send requests
    uint64_t completed = 0;  // of them, as far as known
    uint32_t unsignalled = 0;
  };
  struct Slot {  // of the ring that is written from
    uint32_t queue = 0;
    uint64_t request = 0;  // it is free when queue's `completed` has reached it
  };
  uint32_t depth() const { return queues_->shape().depth; }
  uint32_t queuesFor(uint64_t bytes) const;
  bool slotIsFree(uint64_t cell) const;
  bool hasRoom(size_t queue) const;
  void writeCell(SendState& state, size_t queue, bool signal);
  bool post(size_t queue, ibv_send_wr* request, bool signal);
  void returnCredits();
  void probe();
  bool poll();
  bool poll(size_t rail);
  void arm(size_t rail);
  void onCompletion(const ibv_wc& completion, size_t rail);
  void onArrival(const ibv_wc& completion);
  Io takeHeader(ReceiveState& state, const std::byte* cell);
  void completionError(const ibv_wc& completion, size_t rail);

  const std::shared_ptr<QueueSet> queues_;
  const Settings settings_;
  const Names names_;
  std::vector<uint64_t> deviceUsers_;  // by rail

  std::mutex mutex_;  // of everything up to failed_
  std::vector<Queue> sends_;
  std::vector<Slot> slots_;
  uint64_t written_ = 0;    // cells
  uint64_t credited_ = 0;   // cells that the peer has given back
  uint32_t frameCell_ = 0;  // of the frame under way
  std::vector<uint8_t> arrived_;
  uint64_t read_ = 0;           // cells
  uint32_t owed_ = 0;           // credits not returned yet
  std::vector<uint8_t> armed_;  // by rail
  uint64_t quietSince_ = 0;

  std::atomic<uint64_t> bytesSent_{0}, bytesReceived_{0};
  std::atomic<bool> peerLeft_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex failureMutex_;
  Status failure_;  // guarded; the first cause
};

}  // namespace hccl::transport::rdma
