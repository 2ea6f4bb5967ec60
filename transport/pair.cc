#include "transport/pair.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/base/socket.h"
#include "transport/farewell.h"
#include "transport/link_error_info.h"
#include "transport/links_core.h"

namespace hccl::transport {
namespace {

constexpr uint32_t kNoAttempt = 0;  // a kRefuse with it: no transport is left for the kind

}  // namespace

Pair::Pair(LinksCore* core, ControlThread* thread, uint32_t peer, const Card& card)
    : core_(core), thread_(thread), peer_(peer), initiator_(core->rank() > peer) {
  facts_.communicator = core->config().communicator;
  facts_.communicatorId = core->id();
  facts_.rank = core->rank();
  facts_.peer = peer;
  facts_.device = core->config().device;
  facts_.mine = core->mine();
  facts_.theirs = card;
  facts_.initiator = initiator_;
  facts_.transports = core->config().transports;
}

Pair::~Pair() {
  if (retryTimer_ != 0) thread_->cancel(retryTimer_);
  dropCall();
  while (!answers_.empty()) dropAnswer(answers_.begin());
  dropSetup();
  if (process_) process_->remove(processCallback_);
  if (channel_) {
    channel_->onMessage = nullptr;
    channel_->onClosed = nullptr;
    channel_->close();
  }
}

bool Pair::isReady(LinkKind kind) const {
  return core_->find(peer_, kind) != nullptr;
}

void Pair::adoptChannel(std::shared_ptr<Connection> connection, const Handshake& handshake) {
  if (channel_) {
    bool used = left_;
    for (const LinkKind kind : LinksCore::kKinds) used = used || isReady(kind);
    // Links live on the old channel. A peer that calls again has lost it; its end will be seen
    // there.
    if (used) return connection->close();
    dropSetup();
    channel_->onMessage = nullptr;
    channel_->onClosed = nullptr;
    channel_->close();
  }
  if (retryTimer_ != 0) thread_->cancel(std::exchange(retryTimer_, 0));
  retrySeconds_ = 0;
  dropCall();
  channel_ = std::move(connection);
  channel_->setMember();
  channel_->onMessage = [this](Message message) { onChannelMessage(std::move(message)); };
  channel_->onClosed = [this](const Status& status) { onChannelEnd(status); };
  pokedUntil_ = Deadline::atNs(0);
  facts_.sessionKey = handshake.sessionKey();
  facts_.unixChannel = channel_->isUnix();
  if (facts_.unixChannel) {
    if (const auto who = peerCredentials(channel_->fd()); who.isOk()) {
      facts_.peerProcess = who->pid;
      process_ = ProcessWatch::of(thread_, facts_.theirs.process, who->pid);
    }
    if (process_) processCallback_ = process_->add([this] { onProcessEnd(); });
  } else {
    channel_->keepAlive();
  }
  refusedSince_ = 0;
  core_->setReason(peer_, fmt::format("{}, but the link is not complete", kConnectedReason));
  if (const Status cause = core_->abortCause(); !cause.isOk()) sendAbort(cause);
  if (initiator_) return nextAttempt();
  for (const LinkKind kind : LinksCore::kKinds) {
    if (isReady(kind) || wantedUntil_[static_cast<size_t>(kind)].expired()) continue;
    const WantBody body{static_cast<uint32_t>(kind)};
    channel_->send(MessageType::kWant, bytesOf(body));
  }
}

void Pair::onChannelMessage(Message message) {
  if (message.type == MessageType::kBye) return onBye();
  if (message.type == MessageType::kAbort) {
    AbortBody body;
    if (readBody(message.body, &body, true) && body.code != HCCL_SUCCESS) {
      core_->peerAborted(
          peer_, Status(static_cast<HcclResult>(body.code), message.body.substr(sizeof body),
                        body.eiCode, body.culprit));
    }
    return;
  }
  if (message.type == MessageType::kContact) {
    Announcement theirs;
    if (readBody(message.body, &theirs)) core_->setAnnounced(peer_, theirs);
    return;
  }
  if (message.type == MessageType::kHeartbeat) {
    HeartbeatBody body;
    if (!readBody(message.body, &body)) return;
    alive_ = true;
    return core_->heartbeat().onSign(peer_, body);
  }
  if (message.type == MessageType::kWant) {
    WantBody body;
    if (initiator_ && readBody(message.body, &body) && body.kind < 2) {
      want(static_cast<LinkKind>(body.kind), Deadline::after(core_->config().connectTimeout));
    }
    return;
  }
  AttemptHead head;
  if (!readBody(message.body, &head, true) || head.kind > 1) return;
  std::string text = message.body.substr(sizeof head);
  if (message.type == MessageType::kTry) return onTry(head, text);
  if (message.type == MessageType::kRefuse) return onRefuse(head, text);
  // The rest belongs to the attempt under way; words of an earlier one come too late.
  if (!setup_ || head.attempt != facts_.attempt) return;
  switch (message.type) {
    case MessageType::kSetup:
      return setup_->onMessage(std::move(text), std::move(message.fds));
    case MessageType::kCommit:
      committed_ = true;
      if (!initiator_ && finished_) publish();
      return;
    case MessageType::kReady:
      if (initiator_ && finished_) publish();
      return;
    default:
      return;
  }
}

void Pair::sendHead(MessageType type, std::string_view text, std::span<const int> fds) {
  if (!channel_) return;
  const AttemptHead head{facts_.attempt, static_cast<uint32_t>(facts_.kind)};
  std::string body(bytesOf(head));
  body += text;
  channel_->send(type, body, fds);
}

void Pair::send(std::string_view text, std::span<const int> fds) {
  sendHead(MessageType::kSetup, text, fds);
}

// ---- the higher rank leads ----

void Pair::nextAttempt() {
  if (!initiator_ || !channel_ || setup_ || left_ || gone_) return;
  for (const LinkKind kind : LinksCore::kKinds) {
    if (isReady(kind) || wantedUntil_[static_cast<size_t>(kind)].expired()) continue;
    facts_.kind = kind;
    transport_ = 0;
    reasons_.clear();
    if (tryTransports()) return;
  }
}

// Starts the first transport from transport_ on that may work. False when none is left.
bool Pair::tryTransports() {
  const auto classes = transportClasses();
  for (; transport_ < classes.size(); ++transport_) {
    const TransportClass* candidate = classes[transport_];
    if (!core_->allows(candidate->name())) continue;
    if (const std::string why = candidate->probe(facts_); !why.empty()) {
      reasons_ += fmt::format("{}{}: {}", reasons_.empty() ? "" : "; ", candidate->name(), why);
      continue;
    }
    facts_.attempt = ++attempts_;
    finished_ = committed_ = false;
    sendHead(MessageType::kTry, fmt::format("{}\n{}", candidate->name(), reasons_));
    setup_ = candidate->start(this);
    setup_->begin();
    return true;
  }
  const std::string why =
      reasons_.empty() ? fmt::format("HCCL_TRANSPORT \"{}\" names no transport that exists here",
                                     core_->config().transports)
                       : reasons_;
  facts_.attempt = kNoAttempt;
  sendHead(MessageType::kRefuse, why);
  exhausted(facts_.kind, why);
  return false;
}

void Pair::exhausted(LinkKind kind, const std::string& reasons) {
  wantedUntil_[static_cast<size_t>(kind)] = Deadline::atNs(0);
  core_->setHopeless(
      peer_,
      Status(HCCL_E_NOT_SUPPORT,
             fmt::format("Getting socket times out. Reason: no transport can join rank {} and "
                         "rank {} of {} (HCCL_TRANSPORT {}): {}",
                         core_->rank(), peer_, facts_.communicator,
                         core_->config().transports.empty() ? "auto" : core_->config().transports,
                         reasons),
             6, static_cast<int>(peer_)));
}

// ---- the lower rank follows ----

void Pair::onTry(const AttemptHead& head, std::string_view text) {
  if (initiator_) return;
  dropSetup();
  const size_t line = std::min(text.find('\n'), text.size());
  const std::string_view name = text.substr(0, line);
  reasons_ = text.substr(std::min(line + 1, text.size()));  // why not the ones before
  facts_.attempt = head.attempt;
  facts_.kind = static_cast<LinkKind>(head.kind);
  finished_ = committed_ = false;
  const TransportClass* transport = findTransport(name);
  std::string why;
  if (transport == nullptr) {
    why = fmt::format("rank {} does not know it", core_->rank());
  } else if (!core_->allows(name)) {
    why = fmt::format("excluded by HCCL_TRANSPORT \"{}\" of rank {}", core_->config().transports,
                      core_->rank());
  } else {
    why = transport->probe(facts_);
  }
  if (!why.empty()) return sendHead(MessageType::kRefuse, why);
  setup_ = transport->start(this);
}

void Pair::onJoin(const JoinBody& join, UniqueFd fd) {
  if (initiator_ || !setup_ || join.attempt != facts_.attempt ||
      !sameDigest(join.proof, joinProof(facts_.sessionKey, join))) {
    return;
  }
  setup_->onData(join.index, std::move(fd));
}

void Pair::onRefuse(const AttemptHead& head, std::string_view reason) {
  if (head.attempt == kNoAttempt) {
    if (!initiator_) exhausted(static_cast<LinkKind>(head.kind), std::string(reason));
    return;
  }
  if (!setup_ || head.attempt != facts_.attempt) return;
  if (!initiator_) return dropSetup();
  reasons_ += fmt::format("{}{}: {}", reasons_.empty() ? "" : "; ",
                          transportClasses()[transport_]->name(), reason);
  dropSetup();
  ++transport_;
  if (!tryTransports()) nextAttempt();
}

// ---- both ----

void Pair::fail(std::string reason) {
  if (!setup_) return;
  sendHead(MessageType::kRefuse, reason);
  if (!initiator_) return dropSetup();
  onRefuse({facts_.attempt, static_cast<uint32_t>(facts_.kind)}, reason);
}

std::function<void(const Status&)> Pair::failureReporter() {
  return [weak = core_->weak_from_this(), peer = peer_](const Status& status) {
    if (const auto core = weak.lock()) core->peerFailed(peer, status);
  };
}

void Pair::finish(std::vector<MadeLink> links) {
  made_ = std::move(links);
  finished_ = true;
  if (initiator_) return sendHead(MessageType::kCommit);
  if (committed_) publish();
}

void Pair::dropSetup() {
  made_.clear();
  finished_ = committed_ = false;
  if (!setup_) return;
  // It may be what called us: it is destroyed when this turn is over.
  const std::shared_ptr<LinkSetup> old = std::move(setup_);
  old->abandon();
  thread_->post([old] {});
}

void Pair::publish() {
  if (!initiator_) sendHead(MessageType::kReady);
  const std::string& description = made_.front().link->description;
  if (!reasons_.empty()) {
    // One line for each pair that shares a kernel and yet not its memory.
    const bool surprising = facts_.mine.sameKernel(facts_.theirs);
    for (auto& made : made_) made.link->description += fmt::format(" ({})", reasons_);
    if (surprising) {
      HCCL_RUN_WARNING("link of rank {} to rank {} of {} falls back to {}", core_->rank(), peer_,
                       facts_.communicator, description);
    }
  }
  HCCL_RUN_INFO("link of rank {} to rank {} of {}: {}", core_->rank(), peer_, facts_.communicator,
                description);
  for (auto& made : made_) {
    if (made.keep) keep_.push_back(made.keep);
  }
  auto links = std::move(made_);
  dropSetup();
  core_->publish(peer_, &links);
  nextAttempt();
}

// ---- ends ----

void Pair::onBye() {
  left_ = true;
  dropSetup();
  core_->peerLeft(peer_);
}

void Pair::onChannelEnd(const Status& status) {
  dropSetup();
  channel_.reset();
  if (process_) process_->remove(processCallback_);
  process_.reset();
  if (left_ || gone_) return;
  bool used = alive_;
  for (const LinkKind kind : LinksCore::kKinds) used = used || isReady(kind);
  if (used) return peerGone(status.text());
  core_->setReason(peer_, status.text());
  retryLater(false);
}

void Pair::onProcessEnd() {
  // Its last words may still wait in the socket.
  if (const auto channel = channel_) channel->drain();
  if (left_ || gone_) return;
  if (channel_) channel_->close();
  dropSetup();
  channel_.reset();
  process_.reset();
  peerGone("its process has ended");
}

void Pair::peerGone(const std::string& why) {
  gone_ = true;
  const Status status(
      HCCL_E_REMOTE,
      fmt::format(
          "SDMA memory copy task exception occurred. Remote rank: {}. Base information: the "
          "connection with rank {} at {} is lost: {}. Task information: none. Communicator "
          "information: {}.",
          peer_, peer_, facts_.theirs.tcp.toString(), why, facts_.communicator),
      12, static_cast<int>(peer_));
  core_->peerFailed(peer_, status);
}

void Pair::sendContact(const Announcement& own) {
  if (channel_) channel_->send(MessageType::kContact, bytesOf(own));
}

void Pair::sendHeartbeat(const HeartbeatBody& body) {
  if (channel_) channel_->send(MessageType::kHeartbeat, bytesOf(body));
}

void Pair::sendAbort(const Status& cause) {
  if (!channel_) return;
  std::string body(bytesOf(AbortBody{cause.code(), cause.eiCode(), cause.culprit()}));
  body += cause.text().substr(0, kMaxAbortText);
  channel_->send(MessageType::kAbort, body);
}

void Pair::sayBye() {
  dropSetup();
  if (process_) process_->remove(processCallback_);
  process_.reset();
  if (!channel_) return;
  channel_->send(MessageType::kBye, {});
  const auto channel = std::move(channel_);
  // The peer may not have read our last signals yet: they stay until it says goodbye, too.
  if (!left_ && !keep_.empty()) {
    Farewell::begin(thread_, channel, std::move(keep_));
  } else {
    channel->closeAfterFlush();
  }
}

}  // namespace hccl::transport
