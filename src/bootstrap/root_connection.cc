#include "src/bootstrap/root_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace hccl::bootstrap {

size_t RootConnection::neededBytes() const {
  switch (state_) {
    case State::kHello:
      return kHelloBytes;
    case State::kProof:
      return kProofBytes;
    case State::kHeader:
      return kFrameHeaderBytes;
    case State::kBody:
      return header_.length;
  }
  return 0;
}

// kFrame here: the unit is complete.
RootConnection::Input RootConnection::readUnit() {
  std::array<char, 65536> buffer;
  while (input_.size() < neededBytes()) {
    const size_t want = std::min(neededBytes() - input_.size(), buffer.size());
    const ssize_t got = ::recv(fd_.get(), buffer.data(), want, 0);
    if (got > 0) {
      input_.append(buffer.data(), static_cast<size_t>(got));
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return Input::kNothing;
    } else {
      return Input::kClosed;
    }
  }
  return Input::kFrame;
}

bool RootConnection::answerHello(const Digest& secret, uint32_t version) {
  const std::optional<Hello> hello = decodeHello(input_);
  Result<Digest> nonce = randomDigest();
  if (!hello || !nonce) return false;
  version_ = hello->version;
  const std::string answer = encodeHello({version, *nonce});
  session_ = Session(secret, input_, answer);
  output_.push_back({answer + std::string(view(session_.serverProof())), nullptr, 0});
  return true;
}

RootConnection::Input RootConnection::takeUnit(const Digest& secret, uint32_t version,
                                               bool* isEvent) {
  *isEvent = true;
  switch (state_) {
    case State::kHello:
      if (!answerHello(secret, version)) return Input::kInvalid;
      state_ = State::kProof;
      break;
    case State::kProof:
      if (!isEqual(input_, view(session_.agentProof()))) return Input::kInvalid;
      state_ = State::kHeader;
      return Input::kProved;
    case State::kHeader: {
      const std::optional<FrameHeader> header = Session::parseHeader(input_);
      if (!header) return Input::kInvalid;
      header_ = *header;
      state_ = State::kBody;
      break;
    }
    case State::kBody:
      if (!session_.openFrame(false, header_, input_)) return Input::kInvalid;
      frame_ = std::move(input_);
      state_ = State::kHeader;
      return Input::kFrame;
  }
  *isEvent = false;
  return Input::kNothing;
}

RootConnection::Input RootConnection::read(const Digest& secret, uint32_t version) {
  for (;;) {
    const Input unit = readUnit();
    if (unit != Input::kFrame) return unit;
    bool isEvent = false;
    const Input event = takeUnit(secret, version, &isEvent);
    input_.clear();
    if (isEvent) return event;
  }
}

void RootConnection::send(FrameType type, std::shared_ptr<const SharedBody> body) {
  Output output;
  output.head = session_.sealFrame(true, type, body->text.size(), body->digest);
  output.body = std::move(body);
  output_.push_back(std::move(output));
}

bool RootConnection::flush() {
  while (!output_.empty()) {
    Output& front = output_.front();
    const size_t bodySize = front.body == nullptr ? 0 : front.body->text.size();
    while (front.sent < front.head.size() + bodySize) {
      const bool inHead = front.sent < front.head.size();
      const std::string& part = inHead ? front.head : front.body->text;
      const size_t offset = inHead ? front.sent : front.sent - front.head.size();
      const ssize_t done =
          ::send(fd_.get(), part.data() + offset, part.size() - offset, MSG_NOSIGNAL);
      if (done >= 0) {
        front.sent += static_cast<size_t>(done);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return true;
      } else if (errno != EINTR) {
        return false;
      }
    }
    output_.pop_front();
  }
  return true;
}

}  // namespace hccl::bootstrap
