#include "transport/tcp/tcp_transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/base/env.h"
#include "src/base/socket.h"
#include "src/runtime/engine.h"
#include "transport/connection.h"
#include "transport/tcp/tcp_link.h"

namespace hccl::transport {
namespace {

constexpr uint32_t kMaxStreams = 16;

uint32_t ownStreams() {
  const auto env = environment();
  return env.isOk() ? std::clamp<uint32_t>((*env)->hostTcpStreams, 1, kMaxStreams) : 1;
}

// higher rank: "streams N" -> lower rank: "streams M" (the smaller number) -> M data connections,
// each opened with a kJoin -> lower rank: "joined".
class TcpSetup final : public LinkSetup {
 public:
  explicit TcpSetup(SetupHost* host) : host_(host) {}
  void abandon() override {
    for (auto& connection : connections_) {
      connection->onClosed = nullptr;
      connection->close();
    }
    connections_.clear();
  }

  void begin() override { host_->send(fmt::format("streams {}", ownStreams())); }

  void onMessage(std::string text, std::vector<UniqueFd>) override {
    if (host_->facts().initiator && text == "joined") return joined();
    constexpr std::string_view kStreams = "streams ";
    uint32_t count = 0;
    if (streams_ != 0 || text.rfind(kStreams, 0) != 0 ||
        std::from_chars(text.data() + kStreams.size(), text.data() + text.size(), count).ec !=
            std::errc() ||
        count < 1 || count > kMaxStreams) {
      return host_->fail(fmt::format("unexpected words \"{:.40}\" of the peer", text));
    }
    if (host_->facts().initiator) {
      streams_ = count;
      return openStreams();
    }
    streams_ = std::min(count, ownStreams());
    accepted_.resize(streams_);
    host_->send(fmt::format("streams {}", streams_));
  }

  void onData(uint32_t index, UniqueFd fd) override {
    if (index >= accepted_.size() || accepted_[index]) return;
    if (auto peer = peerAddress(fd.get()); peer.isOk()) address_ = peer->toString();
    accepted_[index] = std::move(fd);
    if (++arrived_ < streams_) return;
    host_->send("joined");
    finish(std::move(accepted_));
  }

 private:
  void openStreams() {
    const PairFacts& facts = host_->facts();
    address_ = facts.theirs.tcp.toString();
    for (uint32_t i = 0; i < streams_; ++i) {
      auto fd = startConnectTcp(facts.theirs.tcp);
      if (!fd.isOk()) return host_->fail(fd.status().text());
      auto connection = Connection::connecting(host_->thread(), std::move(*fd), facts.theirs.tcp);
      connection->onClosed = [this](const Status& status) { host_->fail(status.text()); };
      JoinBody join;
      join.communicator = facts.communicatorId;
      join.source = facts.rank;
      join.destination = facts.peer;
      join.attempt = facts.attempt;
      join.index = i;
      join.proof = joinProof(facts.sessionKey, join);
      connection->send(MessageType::kJoin, bytesOf(join));
      connections_.push_back(std::move(connection));
    }
  }

  void joined() {
    std::vector<UniqueFd> fds;
    for (auto& connection : connections_) fds.push_back(connection->detach());
    connections_.clear();
    if (fds.size() != streams_ || streams_ == 0) return host_->fail("the peer joined nothing");
    finish(std::move(fds));
  }

  void finish(std::vector<UniqueFd> fds) {
    const PairFacts& facts = host_->facts();
    auto wakeSet = runtime::Engine::instance().wakeSet();
    if (!wakeSet.isOk()) return host_->fail(wakeSet.status().text());
    MadeLink made;
    made.kind = facts.kind;
    made.link = std::make_unique<Link>();
    made.link->peer = facts.peer;
    made.link->linkClass = LinkClass::kMessage;
    made.link->description =
        fmt::format("tcp: {} connection{} with {}", streams_, streams_ == 1 ? "" : "s", address_);
    auto tcp = std::make_unique<TcpLink>(TcpLink::Names{facts.peer, address_, facts.communicator},
                                         std::move(fds), *wakeSet);
    made.onPeerLeft = [link = tcp.get()] { link->setPeerLeft(); };
    made.link->message = std::move(tcp);
    std::vector<MadeLink> links;
    links.push_back(std::move(made));
    host_->finish(std::move(links));
  }

  SetupHost* host_;
  uint32_t streams_ = 0;
  uint32_t arrived_ = 0;
  std::string address_;
  std::vector<std::shared_ptr<Connection>> connections_;  // opened here
  std::vector<UniqueFd> accepted_;                        // or arrived here
};

class TcpTransport final : public TransportClass {
 public:
  std::string_view name() const override { return "tcp"; }
  std::string probe(const PairFacts&) const override { return ""; }
  std::unique_ptr<LinkSetup> start(SetupHost* host) const override {
    return std::make_unique<TcpSetup>(host);
  }
};

}  // namespace

const TransportClass* tcpTransport() {
  static const TcpTransport transport;
  return &transport;
}

}  // namespace hccl::transport
