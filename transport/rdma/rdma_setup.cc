#include "transport/rdma/rdma_setup.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/rdma/setup_words.h"

namespace hccl::transport::rdma {
namespace {

constexpr uint32_t kSoftRoceVendor = 0xffffff;

uint64_t freshToken() {
  const Digest random = randomDigest();
  uint64_t token;
  std::memcpy(&token, random.data(), sizeof token);
  return token == 0 ? 1 : token;
}

}  // namespace

RdmaSetup::RdmaSetup(SetupHost* host, SetupTools tools) : host_(host), tools_(std::move(tools)) {}

RdmaSetup::~RdmaSetup() {
  abandon();
}

void RdmaSetup::abandon() {
  over_ = true;
  if (timer_ != 0) host_->thread()->cancel(std::exchange(timer_, 0));
  if (token_ != 0 && tools_.agent != nullptr) tools_.agent->forget(std::exchange(token_, 0));
  for (auto& id : ids_) {
    if (id) id->onEvent = nullptr;
  }
  ids_.clear();
}

void RdmaSetup::fail(const Status& status) {
  if (std::exchange(over_, true)) return;
  host_->fail(status.text());
}

std::string RdmaSetup::peerName() const {
  return !rails_.empty() && rails_[0].peer.isValid() ? rails_[0].peer.toString() : "the peer";
}

Status RdmaSetup::prepare() {
  if (tools_.agent == nullptr) {
    HCCL_ASSIGN_OR_RETURN(tools_.agent, CmAgent::instance());
  }
  const Card& mine = host_->facts().mine;
  HCCL_ASSIGN_OR_RETURN(auto ports, choosePorts(tools_.verbs, mine.tcp.ip, mine.more));
  if (ports.size() > kMaxRails) ports.resize(kMaxRails);
  for (PortChoice& port : ports) {
    RailFacts& rail = rails_.emplace_back();
    rail.port = std::move(port);
    HCCL_ASSIGN_OR_RETURN(rail.device,
                          Device::of(tools_.verbs, tools_.deviceThread, rail.port.context));
    // Soft-RoCE takes 7 for "for ever".
    if (rail.device->limits().vendor_id == kSoftRoceVendor && tools_.settings.retryCount == 7) {
      tools_.settings.retryCount = 6;
    }
  }
  if (host_->thread() != nullptr) {
    timer_ = host_->thread()->at(Deadline::after(tools_.timeoutSeconds), [this] {
      timer_ = 0;
      fail(Status(
          HCCL_E_TIMEOUT,
          fmt::format("no RDMA connection between {} and {} within {:.0f} s",
                      rails_[0].port.address.toString(), peerName(), tools_.timeoutSeconds)));
    });
  }
  return Status();
}

// A file of source ports decides over the number of queue pairs.
RingShape RdmaSetup::ownShape(const IpAddress& theirs) const {
  RingShape shape = tools_.shape;
  if (!theirs.isValid()) return shape;
  if (const auto* ports = tools_.ports.find(rails_[0].port.address, theirs); ports != nullptr) {
    shape.queuePairs =
        std::clamp<uint32_t>(static_cast<uint32_t>(ports->size()), 1, kMaxQueuePairs);
  }
  return shape;
}

bool RdmaSetup::mayUseFlags() const {
  const auto& named = tools_.flagDevices;
  const auto isNamed = [&](const RailFacts& rail) {
    return std::any_of(named.begin(), named.end(), [&](const std::string& name) {
      return name == "all" || name == rail.port.device;
    });
  };
  // A flag is a request that holds its data.
  return std::all_of(rails_.begin(), rails_.end(), isNamed) &&
         (!queues_ || queues_->inlineBytes() >= sizeof(uint64_t));
}

RdmaSetup::Words RdmaSetup::makeWords(const char* kind) const {
  Words words;
  words.kind = kind;
  words.shape = shape_;
  words.flags = flags_;
  for (size_t i = 0; i < rails_.size(); ++i) {
    Words::End& end = words.rails.emplace_back();
    end.address = rails_[i].port.address;
    end.mtu = rails_[i].port.mtu;
    if (queues_) end.key = queues_->rails()[i].region->rkey;
  }
  if (queues_) words.ring = queues_->ring();
  return words;
}

void RdmaSetup::begin() {
  if (const Status status = prepare(); !status.isOk()) return fail(status);
  shape_ = ownShape(host_->facts().theirs.tcp.ip);
  flags_ = mayUseFlags();
  host_->send(makeWords("offer").text());
}

void RdmaSetup::onMessage(std::string text, std::vector<UniqueFd>) {
  if (over_) return;
  const auto words = Words::parse(text);
  if (!words) {
    return fail(
        Status(HCCL_E_NETWORK, fmt::format("unexpected words \"{:.80}\" of the peer", text)));
  }
  const bool initiator = host_->facts().initiator;
  if (words->kind == "offer" && !initiator && !queues_) return onOffer(*words);
  if (words->kind == "answer" && initiator && !rails_.empty() && !queues_) return onAnswer(*words);
  if (words->kind == "ring" && !initiator && queues_ && !ringKnown_) {
    if (const Status status = takeRing(*words); !status.isOk()) return fail(status);
    flags_ = words->flags;
    return finishIfComplete();
  }
  fail(Status(HCCL_E_NETWORK, fmt::format("the peer says \"{}\" out of turn", words->kind)));
}

// The agreed shape is known, and the peer's rails.
Status RdmaSetup::makeQueues(const Words& words) {
  rails_.resize(std::min(rails_.size(), words.rails.size()));
  std::vector<std::shared_ptr<Device>> devices;
  for (size_t i = 0; i < rails_.size(); ++i) {
    RailFacts& rail = rails_[i];
    rail.peer = words.rails[i].address;
    rail.mtu = std::min(rail.port.mtu, words.rails[i].mtu);
    const auto* ports = tools_.ports.find(rail.port.address, rail.peer);
    if (ports != nullptr) rail.sourcePorts = *ports;
    devices.push_back(rail.device);
  }
  RingShape whole = shape_;
  const auto count = static_cast<uint32_t>(rails_.size());
  whole.queuePairs = std::clamp(shape_.queuePairs, 1U, kMaxQueuePairs / count) * count;
  HCCL_ASSIGN_OR_RETURN(queues_, QueueSet::make(devices, whole));
  ids_.resize(whole.queuePairs);
  established_.resize(whole.queuePairs);
  return Status();
}

Status RdmaSetup::takeRing(const Words& words) {
  if (words.ring == 0 || words.rails.size() != rails_.size()) {
    return Status(HCCL_E_NETWORK, "the peer names no cells");
  }
  peerRing_ = words.ring;
  for (size_t i = 0; i < rails_.size(); ++i) rails_[i].peerKey = words.rails[i].key;
  ringKnown_ = true;
  return Status();
}

void RdmaSetup::onOffer(const Words& words) {
  if (const Status status = prepare(); !status.isOk()) return fail(status);
  const RingShape own = ownShape(words.rails[0].address);
  shape_ = {std::min(own.depth, words.shape.depth), std::min(own.cellBytes, words.shape.cellBytes),
            std::min(own.queuePairs, words.shape.queuePairs)};
  if (const Status status = makeQueues(words); !status.isOk()) return fail(status);
  flags_ = words.flags && mayUseFlags();
  Words answer = makeWords("answer");
  for (size_t i = 0; i < rails_.size(); ++i) {
    const auto port = tools_.agent->listen(rails_[i].port.address);
    if (!port.isOk()) return fail(port.status());
    answer.rails[i].port = *port;
  }
  token_ = freshToken();
  tools_.agent->expect(token_, [this](std::unique_ptr<CmId> id, const PrivateData& data) {
    onRequest(std::move(id), data);
  });
  answer.token = token_;
  host_->send(answer.text());
}

void RdmaSetup::onAnswer(const Words& words) {
  callerToken_ = words.token;
  const RingShape own = ownShape(words.rails[0].address);
  if (words.shape.depth > own.depth || words.shape.cellBytes > own.cellBytes ||
      words.rails.size() > rails_.size()) {
    return fail(Status(HCCL_E_NETWORK, "the peer answers with more than was offered"));
  }
  shape_ = words.shape;
  if (const Status status = makeQueues(words); !status.isOk()) return fail(status);
  flags_ = words.flags && mayUseFlags();
  if (const Status status = takeRing(words); !status.isOk()) return fail(status);
  host_->send(makeWords("ring").text());
  for (size_t i = 0; i < ids_.size(); ++i) {
    const RailFacts& rail = railOf(i);
    auto id =
        tools_.agent->resolve(rail.port.address, {rail.peer, words.rails[i % rails_.size()].port},
                              tools_.settings.trafficClass, kResolveMs);
    if (!id.isOk()) return fail(id.status());
    ids_[i] = std::move(*id);
    ids_[i]->onEvent = [this, i](const CmId::Event& event) { onEvent(i, event); };
  }
}

}  // namespace hccl::transport::rdma
