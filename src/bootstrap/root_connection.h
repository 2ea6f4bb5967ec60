// RootConnection: one connection at the root's side, never blocking.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "src/base/fd.h"
#include "src/base/ip_address.h"
#include "src/base/status.h"
#include "src/bootstrap/wire.h"

namespace hccl::bootstrap {

// A body that goes to many agents: kept once, digested once.
struct SharedBody {
  explicit SharedBody(std::string bytes) : text(std::move(bytes)), digest(sha256(text)) {}
  std::string text;
  Digest digest;
};

class RootConnection {
 public:
  RootConnection(UniqueFd fd, SocketAddress peer, uint64_t acceptedNs)
      : fd_(std::move(fd)), peer_(std::move(peer)), acceptedNs_(acceptedNs) {}

  enum class Input {
    kNothing,  // no complete unit yet
    kProved,   // the peer showed that it knows the secret; its version is in version()
    kFrame,    // frameType() and frameBody() hold a frame
    kClosed,   // the peer is gone
    kInvalid,  // what came is no part of the protocol, or the proof is wrong
  };
  // Reads as far as the next event. Never buffers more than the unit that is due: a peer without a
  // proof costs a hundred bytes.
  Input read(const Digest& secret, uint32_t version);

  // Queues a frame; flush() sends.
  void send(FrameType type, std::shared_ptr<const SharedBody> body);
  // False when the peer is gone.
  bool flush();
  bool hasOutput() const { return !output_.empty(); }

  int fd() const { return fd_.get(); }
  const SocketAddress& peer() const { return peer_; }
  uint64_t acceptedNs() const { return acceptedNs_; }
  bool isMember() const { return state_ == State::kHeader || state_ == State::kBody; }
  uint32_t version() const { return version_; }
  FrameType frameType() const { return header_.type; }
  const std::string& frameBody() const { return frame_; }

  // Set by the server once the join was taken in.
  bool hasJoined = false;
  uint32_t rank = 0;
  bool isAnswered = false;
  bool isHalfClosed = false;

 private:
  enum class State { kHello, kProof, kHeader, kBody };
  struct Output {
    std::string head;  // header, or a whole small message
    std::shared_ptr<const SharedBody> body;
    size_t sent = 0;
  };

  size_t neededBytes() const;
  Input readUnit();
  Input takeUnit(const Digest& secret, uint32_t version, bool* isEvent);
  bool answerHello(const Digest& secret, uint32_t version);

  UniqueFd fd_;
  SocketAddress peer_;
  uint64_t acceptedNs_;
  State state_ = State::kHello;
  Session session_;
  uint32_t version_ = 0;
  FrameHeader header_;
  std::string input_;
  std::string frame_;
  std::deque<Output> output_;
};

}  // namespace hccl::bootstrap
