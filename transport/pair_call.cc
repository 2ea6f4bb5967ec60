// Pair: calling the peer and answering its calls, up to the point where both have proven
// membership.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/base/socket.h"
#include "transport/links_core.h"
#include "transport/listeners.h"
#include "transport/pair.h"

namespace hccl::transport {
namespace {

constexpr double kFirstRetry = 0.005;
constexpr double kLastRetry = 0.5;
constexpr double kPokeAgain = 2;
constexpr size_t kMaxAnswers = 8;
constexpr uint64_t kRefusedNs = 300'000'000;  // a listener is there as long as its process

}  // namespace

bool Pair::isWanted() const {
  if (!channel_ && !pokedUntil_.expired()) return true;
  for (const LinkKind kind : LinksCore::kKinds) {
    if (!isReady(kind) && !wantedUntil_[static_cast<size_t>(kind)].expired()) return true;
  }
  return false;
}

void Pair::want(LinkKind kind, Deadline until) {
  Deadline& current = wantedUntil_[static_cast<size_t>(kind)];
  if (current.ns() < until.ns()) current = until;
  if (gone_ || left_ || isReady(kind)) return;
  if (channel_ && !initiator_) {
    const WantBody body{static_cast<uint32_t>(kind)};
    return channel_->send(MessageType::kWant, bytesOf(body));
  }
  if (channel_) return nextAttempt();
  if (retryTimer_ != 0) {
    thread_->cancel(std::exchange(retryTimer_, 0));
    retrySeconds_ = 0;
  }
  call();
}

void Pair::wantChannel(Deadline until) {
  if (channel_ || isOver()) return;
  if (pokedUntil_.ns() < until.ns()) pokedUntil_ = until;
  if (retryTimer_ == 0) call();
}

void Pair::call() {
  if (call_ || channel_ || gone_ || left_ || !isWanted()) return;
  startCall(initiator_ ? Purpose::kChannel : Purpose::kPoke);
}

Result<std::shared_ptr<Connection>> Pair::dialUnix() {
  HCCL_ASSIGN_OR_RETURN(UniqueFd fd, connectUnix(facts_.theirs.unixName, Deadline::after(0)));
  HCCL_ASSIGN_OR_RETURN(const uid_t uid, peerUid(fd.get()));
  if (uid != ::geteuid() && uid != 0) {
    return Status(
        HCCL_E_UNAVAIL,
        fmt::format("the peer's process belongs to user {}, this one to {}", uid, ::geteuid()));
  }
  return Connection::open(thread_, std::move(fd), true, facts_.theirs.tcp.toString());
}

void Pair::startCall(Purpose purpose) {
  std::shared_ptr<Connection> connection;
  facts_.noUnixReason.clear();
  if (facts_.mine.sameNetwork(facts_.theirs) && wantsUnixChannel(core_->config().transports) &&
      !unixRefused_) {
    auto dialled = dialUnix();
    // A full queue is not the absence of a listener.
    if (dialled.status().code() == HCCL_E_TIMEOUT) return callFailed(dialled.status().text());
    if (dialled.isOk()) {
      connection = std::move(*dialled);
    } else {
      facts_.noUnixReason = dialled.status().text();
    }
  } else if (unixRefused_) {
    facts_.noUnixReason = "the peer's process belongs to another user";
  }
  if (!connection) {
    auto fd = startConnectTcp(facts_.theirs.tcp);
    if (!fd.isOk()) return notReached(fd.status());
    connection = Connection::connecting(thread_, std::move(*fd), facts_.theirs.tcp);
  }
  callPurpose_ = purpose;
  call_ = std::make_unique<Handshaking>();
  call_->connection = connection;
  call_->handshake.key = core_->key();
  HelloBody& hello = call_->handshake.hello;
  hello.communicator = core_->id();
  hello.source = core_->rank();
  hello.destination = peer_;
  hello.purpose = purpose;
  hello.nonce = randomDigest();
  connection->onMessage = [this](const Message& message) { onCallMessage(message); };
  connection->onClosed = [this](const Status& status) { notReached(status); };
  connection->send(MessageType::kHello, bytesOf(hello));
}

void Pair::dropCall() {
  if (!call_) return;
  const auto call = std::move(call_);
  call->connection->onMessage = nullptr;
  call->connection->onClosed = nullptr;
  call->connection->close();
}

// Who is refused for a while calls a process that has ended: listeners live as long as theirs.
void Pair::notReached(const Status& status) {
  const uint64_t now = monotonicNs();
  if (!isRefused(status)) {
    refusedSince_ = 0;
  } else if (refusedSince_ == 0) {
    refusedSince_ = now;
  } else if (now - refusedSince_ >= kRefusedNs) {
    dropCall();
    return peerGone(fmt::format("its process has ended ({})", status.text()));
  }
  callFailed(status.text());
}

void Pair::callFailed(const std::string& reason, bool atOnce) {
  dropCall();
  core_->setReason(peer_, reason);
  HCCL_DEBUG("rank {} calling rank {} of {}: {}", core_->rank(), peer_, facts_.communicator,
             reason);
  retryLater(atOnce);
}

void Pair::retryLater(bool atOnce) {
  if (retryTimer_ != 0 || !isWanted()) return;
  retrySeconds_ = atOnce               ? 0
                  : retrySeconds_ == 0 ? kFirstRetry
                                       : std::min(kLastRetry, retrySeconds_ * 2);
  retryTimer_ = thread_->at(Deadline::after(retrySeconds_), [this] {
    retryTimer_ = 0;
    call();
  });
}

void Pair::onCallMessage(const Message& message) {
  switch (message.type) {
    case MessageType::kChallenge: {
      ChallengeBody body;
      if (!readBody(message.body, &body)) return callFailed("broken challenge");
      return onChallenge(body);
    }
    case MessageType::kReject: {
      RejectBody body;
      if (!readBody(message.body, &body, true)) return callFailed("broken rejection");
      return onReject(body);
    }
    case MessageType::kPoked:
      dropCall();
      // Usually the peer's call comes at once; when it is lost, poke again.
      if (retryTimer_ == 0) {
        retryTimer_ = thread_->at(Deadline::after(kPokeAgain), [this] {
          retryTimer_ = 0;
          call();
        });
      }
      return;
    case MessageType::kWelcome: {
      if (callPurpose_ != Purpose::kChannel) return callFailed("unexpected welcome");
      const auto call = std::move(call_);
      return adoptChannel(call->connection, call->handshake);
    }
    default:
      return callFailed("unexpected message during the handshake");
  }
}

void Pair::onChallenge(const ChallengeBody& body) {
  call_->handshake.acceptorNonce = body.nonce;
  if (!sameDigest(body.proof, call_->handshake.acceptorProof())) {
    HCCL_WARNING("{} could not prove that it is rank {} of {}: wrong secret",
                 facts_.theirs.tcp.toString(), peer_, facts_.communicator);
    return callFailed("the peer does not hold the communicator's secret");
  }
  const ResponseBody response{call_->handshake.initiatorProof()};
  call_->connection->send(MessageType::kResponse, bytesOf(response));
}

void Pair::onReject(const RejectBody& body) {
  switch (body.reason) {
    case RejectReason::kVersion: {
      const Status status = versionError(body.version, peer_);
      dropCall();
      return core_->setHopeless(peer_, status);
    }
    case RejectReason::kUser:
      unixRefused_ = true;
      return callFailed("the peer's process belongs to another user", true);
    case RejectReason::kProof:
      return callFailed("the peer did not accept the proof of the communicator's secret");
    default:
      return callFailed("the peer could not read the handshake");
  }
}

void Pair::onHello(const std::shared_ptr<Connection>& connection, const HelloBody& hello) {
  if (hello.purpose == Purpose::kChannel && initiator_) return connection->close();
  if (answers_.size() >= kMaxAnswers) dropAnswer(answers_.begin());
  const auto it = answers_.emplace(answers_.end());
  it->connection = connection;
  it->handshake.key = core_->key();
  it->handshake.hello = hello;
  it->handshake.acceptorNonce = randomDigest();
  it->timer = thread_->at(Deadline::after(kProofSeconds), [this, it] {
    it->timer = 0;
    dropAnswer(it);
  });
  connection->onMessage = [this, it](const Message& message) { onAnswerMessage(it, message); };
  connection->onClosed = [this, it](const Status&) { dropAnswer(it); };
  const ChallengeBody challenge{it->handshake.acceptorNonce, it->handshake.acceptorProof()};
  connection->send(MessageType::kChallenge, bytesOf(challenge));
}

void Pair::dropAnswer(Answers::iterator it) {
  if (it->timer != 0) thread_->cancel(it->timer);
  const auto connection = std::move(it->connection);
  answers_.erase(it);
  connection->onMessage = nullptr;
  connection->onClosed = nullptr;
  connection->closeAfterFlush();
}

void Pair::onAnswerMessage(Answers::iterator it, const Message& message) {
  ResponseBody body;
  if (message.type != MessageType::kResponse || !readBody(message.body, &body)) {
    return dropAnswer(it);
  }
  if (!sameDigest(body.proof, it->handshake.initiatorProof())) {
    HCCL_WARNING("{} claims to be rank {} of {} without its secret: refused",
                 it->connection->peer(), peer_, facts_.communicator);
    RejectBody reject;
    reject.reason = RejectReason::kProof;
    it->connection->send(MessageType::kReject, bytesOf(reject));
    return dropAnswer(it);
  }
  if (it->handshake.hello.purpose == Purpose::kPoke) {
    it->connection->send(MessageType::kPoked, {});
    dropAnswer(it);
    // What kind of link the peer needs it says on the channel.
    pokedUntil_ = Deadline::after(core_->config().connectTimeout);
    return call();
  }
  it->connection->send(MessageType::kWelcome, {});
  if (it->timer != 0) thread_->cancel(it->timer);
  const auto connection = std::move(it->connection);
  const Handshake handshake = it->handshake;
  answers_.erase(it);
  adoptChannel(connection, handshake);
}

}  // namespace hccl::transport
