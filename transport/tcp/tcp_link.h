// TcpLink: frames over one or several TCP connections, opportunistic (a call moves what can be
// moved without waiting).
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/fd.h"
#include "transport/control_thread.h"
#include "transport/transport.h"

namespace hccl::transport {

// Payloads of this size and above are spread over all streams: stream i carries the i-th part.
inline constexpr uint64_t kStripeBytes = 256 * 1024;

class TcpLink final : public MessageLink {
 public:
  struct Names {
    uint32_t peer = 0;
    std::string address;  // of the peer
    std::string communicator;
  };
  // Connected non-blocking sockets, in the same order at both ends. They are added to `wakeSet`
  // (edge triggered) unless it is negative.
  TcpLink(Names names, std::vector<UniqueFd> streams, int wakeSet);
  ~TcpLink() override;

  Io send(SendState& state) noexcept override;
  Io receive(ReceiveState& state) noexcept override;
  bool peek(FrameHeader& header) noexcept override;
  Status failure() const override;
  uint64_t bytesSent() const override { return bytesSent_.load(std::memory_order_relaxed); }
  uint64_t bytesReceived() const override { return bytesReceived_.load(std::memory_order_relaxed); }

  // The peer said goodbye: an end of the stream is put down to that.
  void setPeerLeft() { peerLeft_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr size_t kHeader = sizeof(FrameHeader);
  static constexpr size_t kAhead = 16 * 1024;  // bytes read beyond the frame under way

  struct Stream {
    GuardedFd fd;
    uint64_t partSent = 0;      // of this stream's part of the outgoing payload
    uint64_t partReceived = 0;  // and of the incoming one
  };
  struct Part {
    uint64_t begin, end;
  };
  Part partOf(size_t stream, uint64_t bytes) const;
  Io sendFirst(SendState& state, Part part);
  Io sendRest(SendState& state, size_t index, Part part);
  Io readHeader(ReceiveState& state);
  Io receiveFirst(ReceiveState& state, Part part);
  Io receiveRest(ReceiveState& state, size_t index, Part part);
  Io fill(std::byte* data, size_t want, size_t* got);
  Io broken(int error, const char* doing);
  Io protocolError(const std::string& what);

  Names names_;
  int wakeSet_;
  std::vector<Stream> streams_;
  std::array<std::byte, kAhead> ahead_;  // of stream 0: bytes [aheadBegin_, aheadEnd_)
  size_t aheadBegin_ = 0, aheadEnd_ = 0;
  std::atomic<uint64_t> bytesSent_{0}, bytesReceived_{0};
  std::atomic<bool> peerLeft_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex failureMutex_;
  Status failure_;  // guarded; the first cause
};

}  // namespace hccl::transport
