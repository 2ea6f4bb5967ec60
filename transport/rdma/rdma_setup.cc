#include "transport/rdma/rdma_setup.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/log.h"
#include "src/runtime/engine.h"
#include "transport/rdma/setup_words.h"

namespace hccl::transport::rdma {
namespace {

constexpr int kResolveMs = 3000;
constexpr uint32_t kSoftRoceVendor = 0xffffff;

uint64_t freshToken() {
  const Digest random = randomDigest();
  uint64_t token;
  std::memcpy(&token, random.data(), sizeof token);
  return token == 0 ? 1 : token;
}

// Of a connection that is a link. A process that ends is disconnected by its kernel, too: its
// control connection, which knows more, has the first word.
void onConnectionEvent(Device* device, uint64_t user, const CmId::Event& event) {
  constexpr double kFirstWord = 0.5;  // seconds
  switch (event.type) {
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return device->tell(
          user,
          Status(HCCL_E_NETWORK, fmt::format("rdma_cm reports {}", CmAgent::nameOf(event.type))),
          event.type == RDMA_CM_EVENT_DISCONNECTED ? kFirstWord : 0);
    default:  // the connection stays as it is
      return;
  }
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
  HCCL_ASSIGN_OR_RETURN(auto ports,
                        choosePorts(tools_.verbs, mine.tcp.ip, mine.more, tools_.numaNode));
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

RdmaSetup::Words RdmaSetup::makeWords(const char* kind) const {
  Words words;
  words.kind = kind;
  words.shape = shape_;
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

uint32_t RdmaSetup::flowLabel(size_t index) const {
  const auto& ports = railOf(index).sourcePorts;
  const size_t place = index / rails_.size();
  if (place >= ports.size()) return 0;
  const auto label = flowLabelOfPort(ports[place]);
  return label.isOk() ? *label : 0;
}

Status RdmaSetup::move(size_t index, ibv_qp_state state) {
  QueueSettings settings = tools_.settings;
  settings.mtu = railOf(index).mtu;
  settings.flowLabel = flowLabel(index);
  return moveQueuePair(tools_.verbs, ids_[index]->get(), queues_->qp(index), state, settings);
}

void RdmaSetup::onEvent(size_t index, const CmId::Event& event) {
  if (over_) return;
  if (const Status status = advance(index, event); !status.isOk()) fail(status);
}

Status RdmaSetup::advance(size_t index, const CmId::Event& event) {
  rdma_cm_id* id = ids_[index]->get();
  const RailFacts& rail = railOf(index);
  VerbsApi* verbs = tools_.verbs;
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (id->verbs != rail.port.context) {
        return Status(HCCL_E_ROCE_CONNECT, fmt::format("the way to {} does not lead through {}",
                                                       rail.peer.toString(), rail.port.device));
      }
      if (verbs->resolveRoute(id, kResolveMs) != 0) {
        return Status(HCCL_E_ROCE_CONNECT,
                      fmt::format("rdma_resolve_route: {}", std::strerror(errno)));
      }
      return Status();
    case RDMA_CM_EVENT_ROUTE_RESOLVED: {
      HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_INIT));
      HCCL_RETURN_IF_ERROR(queues_->postReceives(index, queues_->receiveEntries(index)));
      const std::string greeting =
          makeGreeting(host_->facts(), callerToken_, static_cast<uint16_t>(index));
      rdma_conn_param parameters{};
      parameters.private_data = greeting.data();
      parameters.private_data_len = static_cast<uint8_t>(greeting.size());
      parameters.retry_count = tools_.settings.retryCount;
      parameters.rnr_retry_count = kRnrRetry;
      parameters.qp_num = queues_->qp(index)->qp_num;
      if (verbs->connect(id, &parameters) != 0) {
        return Status(HCCL_E_ROCE_CONNECT, fmt::format("rdma_connect: {}", std::strerror(errno)));
      }
      return Status();
    }
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_RTR));
      HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_RTS));
      if (verbs->establish(id) != 0) {
        return Status(HCCL_E_ROCE_CONNECT, fmt::format("rdma_establish: {}", std::strerror(errno)));
      }
      established(index);
      return Status();
    case RDMA_CM_EVENT_ESTABLISHED:
      established(index);
      return Status();
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
    case RDMA_CM_EVENT_DISCONNECTED:
      return Status(HCCL_E_ROCE_CONNECT,
                    fmt::format("rdma_cm between {} and {}: {} ({})", rail.port.address.toString(),
                                rail.peer.toString(), CmAgent::nameOf(event.type),
                                event.status < 0 ? std::strerror(-event.status)
                                                 : std::to_string(event.status)));
    default:
      return Status();
  }
}

// A caller at this end's door.
void RdmaSetup::onRequest(std::unique_ptr<CmId> id, const PrivateData& data) {
  Greeting greeting;
  std::string why =
      over_ ? "the attempt is over" : checkGreeting(host_->facts(), token_, data, &greeting);
  if (why.empty() && (greeting.queue >= ids_.size() || ids_[greeting.queue])) {
    why = "it names no free queue pair";
  }
  if (why.empty() && id->get()->verbs != railOf(greeting.queue).port.context) {
    why = "it came through another device";
  }
  if (!why.empty()) {
    HCCL_RUN_WARNING("an RDMA connection request to rank {} of {} was refused: {}",
                     host_->facts().rank, host_->facts().communicator, why);
    (void)tools_.verbs->reject(id->get());
    return;
  }
  const size_t index = greeting.queue;
  ids_[index] = std::move(id);
  ids_[index]->onEvent = [this, index](const CmId::Event& event) { onEvent(index, event); };
  if (const Status status = acceptRequest(index); !status.isOk()) {
    (void)tools_.verbs->reject(ids_[index]->get());
    fail(status);
  }
}

Status RdmaSetup::acceptRequest(size_t index) {
  HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_INIT));
  HCCL_RETURN_IF_ERROR(queues_->postReceives(index, queues_->receiveEntries(index)));
  HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_RTR));
  HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_RTS));
  rdma_conn_param parameters{};
  parameters.rnr_retry_count = kRnrRetry;
  parameters.qp_num = queues_->qp(index)->qp_num;
  if (tools_.verbs->accept(ids_[index]->get(), &parameters) != 0) {
    return Status(HCCL_E_ROCE_CONNECT, fmt::format("rdma_accept: {}", std::strerror(errno)));
  }
  return Status();
}

void RdmaSetup::established(size_t index) {
  established_[index] = true;
  finishIfComplete();
}

void RdmaSetup::finishIfComplete() {
  if (over_ || !ringKnown_) return;
  if (std::find(established_.begin(), established_.end(), false) != established_.end()) return;
  RdmaLink::Settings settings;
  settings.remoteRing = peerRing_;
  for (const RailFacts& rail : rails_) settings.remoteKeys.push_back(rail.peerKey);
  settings.stripeBytes = tools_.stripeBytes;
  if (host_->thread() != nullptr) {
    const auto wakeSet = runtime::Engine::instance().wakeSet();
    const auto doorbell = runtime::Engine::instance().doorbell();
    if (!wakeSet.isOk()) return fail(wakeSet.status());
    if (!doorbell.isOk()) return fail(doorbell.status());
    settings.wakeSet = *wakeSet;
    settings.sleepers = doorbell->sleepers;
  }
  MadeLink made = makeLink(std::move(settings));
  if (timer_ != 0) host_->thread()->cancel(std::exchange(timer_, 0));
  if (token_ != 0) tools_.agent->forget(std::exchange(token_, 0));
  over_ = true;
  std::vector<MadeLink> links;
  links.push_back(std::move(made));
  host_->finish(std::move(links));
}

MadeLink RdmaSetup::makeLink(RdmaLink::Settings settings) {
  const PairFacts& facts = host_->facts();
  RdmaLink::Names names;
  names.peer = facts.peer;
  names.communicator = facts.communicator;
  names.local = {facts.mine.tcp.ip.toString(), facts.device, {}};
  names.remote = {facts.theirs.tcp.ip.toString(), facts.theirs.device, {}};
  std::string ways;
  for (const RailFacts& rail : rails_) {
    names.local.ips.push_back(rail.port.address.toString());
    names.remote.ips.push_back(rail.peer.toString());
    ways += fmt::format("{}between {} ({} port {}) and {}, path MTU {}, ",
                        ways.empty() ? "" : "and ", rail.port.address.toString(), rail.port.device,
                        rail.port.port, rail.peer.toString(), mtuBytes(rail.mtu));
  }
  auto rdma = std::make_unique<RdmaLink>(queues_, std::move(settings), std::move(names));
  std::vector<uint64_t> users;
  for (size_t i = 0; i < rails_.size(); ++i) {
    users.push_back(rdma->watch(i, rails_[i].port, host_->failureReporter()));
  }
  for (size_t i = 0; i < ids_.size(); ++i) {
    ids_[i]->onEvent = [device = railOf(i).device,
                        user = users[i % users.size()]](const CmId::Event& event) {
      onConnectionEvent(device.get(), user, event);
    };
    queues_->companions.push_back(std::move(ids_[i]));
  }

  MadeLink made;
  made.kind = facts.kind;
  made.link = std::make_unique<Link>();
  made.link->peer = facts.peer;
  made.link->linkClass = LinkClass::kMessage;
  made.link->description = fmt::format("rdma: {} queue pair{} {}{} cells of {} bytes", ids_.size(),
                                       ids_.size() == 1 ? "" : "s", ways, queues_->shape().depth,
                                       queues_->shape().cellBytes);
  ids_.clear();
  made.onPeerLeft = [link = rdma.get()] { link->setPeerLeft(); };
  made.link->message = std::move(rdma);
  made.keep = queues_;
  return made;
}

}  // namespace hccl::transport::rdma
