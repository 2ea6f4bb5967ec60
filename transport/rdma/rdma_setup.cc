#include "transport/rdma/rdma_setup.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "src/base/log.h"
#include "src/runtime/engine.h"

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

struct RdmaSetup::Words {
  std::string kind;
  IpAddress address;
  uint16_t port = 0;
  uint64_t token = 0, ring = 0;
  uint32_t key = 0;
  RingShape shape;
  ibv_mtu mtu = IBV_MTU_256;

  std::string text() const {
    return nlohmann::json{{"kind", kind},
                          {"address", address.toString()},
                          {"port", port},
                          {"token", token},
                          {"ring", ring},
                          {"key", key},
                          {"depth", shape.depth},
                          {"cell", shape.cellBytes},
                          {"qps", shape.queuePairs},
                          {"mtu", static_cast<int>(mtu)}}
        .dump();
  }

  static std::optional<Words> parse(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    bool good = true;
    const auto readNumber = [&](const char* name, auto* value) {
      using T = std::remove_reference_t<decltype(*value)>;
      const auto it = json.find(name);
      if (it == json.end() || !it->is_number_unsigned()) return void(good = false);
      const auto wide = it->template get<uint64_t>();
      *value = static_cast<T>(wide);
      good = good && static_cast<uint64_t>(*value) == wide;
    };
    Words words;
    const auto kind = json.find("kind");
    if (kind == json.end() || !kind->is_string()) return std::nullopt;
    words.kind = kind->get<std::string>();
    const auto address = json.find("address");
    if (address == json.end() || !address->is_string()) return std::nullopt;
    const auto parsed = IpAddress::parse(address->get<std::string>());
    if (!parsed) return std::nullopt;
    words.address = *parsed;
    uint32_t mtu = 0;
    readNumber("port", &words.port);
    readNumber("token", &words.token);
    readNumber("ring", &words.ring);
    readNumber("key", &words.key);
    readNumber("depth", &words.shape.depth);
    readNumber("cell", &words.shape.cellBytes);
    readNumber("qps", &words.shape.queuePairs);
    readNumber("mtu", &mtu);
    if (!good || !isLegal(words.shape) || mtu < IBV_MTU_256 || mtu > IBV_MTU_4096) {
      return std::nullopt;
    }
    words.mtu = static_cast<ibv_mtu>(mtu);
    return words;
  }
};

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

Status RdmaSetup::prepare() {
  if (tools_.agent == nullptr) {
    HCCL_ASSIGN_OR_RETURN(tools_.agent, CmAgent::instance());
  }
  HCCL_ASSIGN_OR_RETURN(port_,
                        choosePort(tools_.verbs, host_->facts().mine.tcp.ip, tools_.numaNode));
  HCCL_ASSIGN_OR_RETURN(device_, Device::of(tools_.verbs, tools_.deviceThread, port_.context));
  // Soft-RoCE takes 7 for "for ever".
  if (device_->limits().vendor_id == kSoftRoceVendor && tools_.settings.retryCount == 7) {
    tools_.settings.retryCount = 6;
  }
  if (host_->thread() != nullptr) {
    timer_ = host_->thread()->at(Deadline::after(tools_.timeoutSeconds), [this] {
      timer_ = 0;
      fail(Status(HCCL_E_TIMEOUT,
                  fmt::format("no RDMA connection between {} and {} within {:.0f} s",
                              port_.address.toString(),
                              peerAddress_.isValid() ? peerAddress_.toString() : "the peer",
                              tools_.timeoutSeconds)));
    });
  }
  return Status();
}

// A file of source ports decides over the number of queue pairs.
RingShape RdmaSetup::ownShape(const IpAddress& theirs) {
  RingShape shape = tools_.shape;
  sourcePorts_.clear();
  if (!theirs.isValid()) return shape;
  if (const auto* ports = tools_.ports.find(port_.address, theirs); ports != nullptr) {
    sourcePorts_ = *ports;
    shape.queuePairs =
        std::clamp<uint32_t>(static_cast<uint32_t>(ports->size()), 1, kMaxQueuePairs);
  }
  return shape;
}

void RdmaSetup::begin() {
  if (const Status status = prepare(); !status.isOk()) return fail(status);
  Words words;
  words.kind = "offer";
  words.address = port_.address;
  words.shape = ownShape(host_->facts().theirs.tcp.ip);
  words.mtu = port_.mtu;
  host_->send(words.text());
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
  if (words->kind == "answer" && initiator && device_ && !queues_) return onAnswer(*words);
  if (words->kind == "ring" && !initiator && queues_ && !ringKnown_) {
    if (const Status status = takeRing(*words); !status.isOk()) return fail(status);
    return finishIfComplete();
  }
  fail(Status(HCCL_E_NETWORK, fmt::format("the peer says \"{}\" out of turn", words->kind)));
}

Status RdmaSetup::makeQueues(const RingShape& shape, ibv_mtu theirMtu) {
  tools_.settings.mtu = std::min(port_.mtu, theirMtu);
  HCCL_ASSIGN_OR_RETURN(queues_, QueueSet::make(device_, shape));
  ids_.resize(shape.queuePairs);
  established_.resize(shape.queuePairs);
  return Status();
}

Status RdmaSetup::takeRing(const Words& words) {
  if (words.ring == 0) return Status(HCCL_E_NETWORK, "the peer names no cells");
  peerRing_ = words.ring;
  peerKey_ = words.key;
  ringKnown_ = true;
  return Status();
}

void RdmaSetup::onOffer(const Words& words) {
  if (const Status status = prepare(); !status.isOk()) return fail(status);
  peerAddress_ = words.address;
  const RingShape own = ownShape(words.address);
  const RingShape shape{std::min(own.depth, words.shape.depth),
                        std::min(own.cellBytes, words.shape.cellBytes),
                        std::min(own.queuePairs, words.shape.queuePairs)};
  if (const Status status = makeQueues(shape, words.mtu); !status.isOk()) return fail(status);
  const auto port = tools_.agent->listen(port_.address);
  if (!port.isOk()) return fail(port.status());
  token_ = freshToken();
  tools_.agent->expect(token_, [this](std::unique_ptr<CmId> id, const PrivateData& data) {
    onRequest(std::move(id), data);
  });
  Words answer;
  answer.kind = "answer";
  answer.address = port_.address;
  answer.port = *port;
  answer.token = token_;
  answer.shape = shape;
  answer.mtu = port_.mtu;
  answer.ring = queues_->ring();
  answer.key = queues_->remoteKey();
  host_->send(answer.text());
}

void RdmaSetup::onAnswer(const Words& words) {
  peerAddress_ = words.address;
  callerToken_ = words.token;
  const RingShape own = ownShape(words.address);
  if (words.shape.depth > own.depth || words.shape.cellBytes > own.cellBytes ||
      words.shape.queuePairs > kMaxQueuePairs) {
    return fail(Status(HCCL_E_NETWORK, "the peer answers with more than was offered"));
  }
  if (const Status status = makeQueues(words.shape, words.mtu); !status.isOk()) return fail(status);
  if (const Status status = takeRing(words); !status.isOk()) return fail(status);
  Words ring;
  ring.kind = "ring";
  ring.address = port_.address;
  ring.shape = words.shape;
  ring.mtu = port_.mtu;
  ring.ring = queues_->ring();
  ring.key = queues_->remoteKey();
  host_->send(ring.text());
  for (size_t i = 0; i < ids_.size(); ++i) {
    auto id = tools_.agent->resolve(port_.address, {words.address, words.port},
                                    tools_.settings.trafficClass, kResolveMs);
    if (!id.isOk()) return fail(id.status());
    ids_[i] = std::move(*id);
    ids_[i]->onEvent = [this, i](const CmId::Event& event) { onEvent(i, event); };
  }
}

uint32_t RdmaSetup::flowLabel(size_t index) const {
  if (index >= sourcePorts_.size()) return 0;
  const auto label = flowLabelOfPort(sourcePorts_[index]);
  return label.isOk() ? *label : 0;
}

Status RdmaSetup::move(size_t index, ibv_qp_state state) {
  QueueSettings settings = tools_.settings;
  settings.flowLabel = flowLabel(index);
  return moveQueuePair(tools_.verbs, ids_[index]->get(), queues_->qp(index), state, settings);
}

void RdmaSetup::onEvent(size_t index, const CmId::Event& event) {
  if (over_) return;
  if (const Status status = advance(index, event); !status.isOk()) fail(status);
}

Status RdmaSetup::advance(size_t index, const CmId::Event& event) {
  rdma_cm_id* id = ids_[index]->get();
  VerbsApi* verbs = tools_.verbs;
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (id->verbs != port_.context) {
        return Status(HCCL_E_ROCE_CONNECT, fmt::format("the way to {} does not lead through {}",
                                                       peerAddress_.toString(), port_.device));
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
                    fmt::format("rdma_cm between {} and {}: {} ({})", port_.address.toString(),
                                peerAddress_.toString(), CmAgent::nameOf(event.type),
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
  if (why.empty() && id->get()->verbs != port_.context) why = "it came through another device";
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
  settings.remoteKey = peerKey_;
  settings.stripeBytes = tools_.stripeBytes;
  if (host_->thread() != nullptr) {
    const auto wakeSet = runtime::Engine::instance().wakeSet();
    const auto doorbell = runtime::Engine::instance().doorbell();
    if (!wakeSet.isOk()) return fail(wakeSet.status());
    if (!doorbell.isOk()) return fail(doorbell.status());
    settings.wakeSet = *wakeSet;
    settings.sleepers = doorbell->sleepers;
  }
  MadeLink made = makeLink(settings);
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
  names.local = {facts.mine.tcp.ip.toString(), facts.device, port_.address.toString()};
  names.remote = {facts.theirs.tcp.ip.toString(), facts.theirs.device, peerAddress_.toString()};
  auto rdma = std::make_unique<RdmaLink>(queues_, settings, std::move(names));
  const uint64_t user = rdma->watch(port_, host_->failureReporter());
  for (auto& id : ids_) {
    id->onEvent = [device = device_, user](const CmId::Event& event) {
      onConnectionEvent(device.get(), user, event);
    };
    queues_->companions.push_back(std::move(id));
  }

  MadeLink made;
  made.kind = facts.kind;
  made.link = std::make_unique<Link>();
  made.link->peer = facts.peer;
  made.link->linkClass = LinkClass::kMessage;
  made.link->description = fmt::format(
      "rdma: {} queue pair{} between {} ({} port {}) and {}, path MTU {}, {} cells of {} bytes",
      ids_.size(), ids_.size() == 1 ? "" : "s", port_.address.toString(), port_.device, port_.port,
      peerAddress_.toString(), mtuBytes(tools_.settings.mtu), queues_->shape().depth,
      queues_->shape().cellBytes);
  ids_.clear();
  made.onPeerLeft = [link = rdma.get()] { link->setPeerLeft(); };
  made.link->message = std::move(rdma);
  made.keep = queues_;
  return made;
}

}  // namespace hccl::transport::rdma
