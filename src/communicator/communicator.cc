#include "src/communicator/communicator.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/base/log.h"
#include "src/communicator/graveyard.h"
#include "src/communicator/heartbeat_config.h"
#include "src/communicator/launch_builder.h"
#include "src/communicator/link_facts.h"
#include "src/communicator/status_server.h"
#include "src/fault/ei_errors.h"
#include "src/plan/lowering.h"
#include "src/runtime/engine.h"
#include "src/runtime/waiting.h"

namespace hccl {
namespace {

constexpr double kShutdownSeconds = 1.0;
// Up to here the calling thread does the steps that need no waiting (some microseconds).
constexpr uint64_t kBriefBytes = 64ULL << 10;

plan::Topology topologyOf(const Cluster& cluster) {
  std::vector<uint32_t> serverOf;
  std::vector<uint32_t> superPodOf;
  for (uint32_t r = 0; r < cluster.size(); ++r) {
    serverOf.push_back(cluster.serverIndex(r));
    superPodOf.push_back(cluster.superPodIndex(r));
  }
  return plan::Topology::fromServers(serverOf, superPodOf);
}

}  // namespace

Result<std::shared_ptr<Communicator>> Communicator::create(CommunicatorParams params) {
  std::shared_ptr<Communicator> communicator(new Communicator(std::move(params)));
  HCCL_RETURN_IF_ERROR(communicator->open());
  return communicator;
}

Communicator::Communicator(CommunicatorParams params)
    : params_(std::move(params)), topology_(topologyOf(params_.cluster)) {}

Communicator::~Communicator() {
  (void)shutdown();
}

Status Communicator::open() {
  HCCL_ASSIGN_OR_RETURN(const Environment* env, environment());
  transport::LinksConfig config;
  config.communicator = params_.name;
  config.secret = params_.secret;
  config.rank = params_.rank;
  config.device = params_.device;
  for (const RankInfo& info : params_.cluster.ranks) {
    config.cards.push_back({info.rank, info.endpoint});
  }
  if (!env->transports.automatic) {
    if (env->transports.shm) config.transports += "shm,";
    if (env->transports.rdma) config.transports += "rdma,";
    if (env->transports.tcp) config.transports += "tcp,";
    if (!config.transports.empty()) config.transports.pop_back();
  } else {
    config.transports = "auto";
  }
  config.connectTimeout = env->connectTimeoutSec;
  flight_ = std::make_shared<Flight>(params_.name, params_.cluster, params_.rank, params_.device);
  config.heartbeat = heartbeatConfig(*env, params_.cluster, params_.rank, topology_.serverOf,
                                     params_.settings.execTimeoutSec);
  config.heartbeat.fromStart = !params_.isSubComm;
  config.heartbeat.progress = [flight = flight_] {
    return std::pair(flight->recorder->queuedCount(), flight->recorder->endedCount());
  };
  HCCL_ASSIGN_OR_RETURN(links_, transport::makeLinks(config));
  context_ = std::make_unique<executor::Context>(params_.name, params_.rank, size(), params_.device,
                                                 links_.get(), flight_->recorder);
  context_->setExecTimeout(params_.settings.execTimeoutSec);
  alarm_ = std::make_shared<Alarm>();
  alarm_->links = links_.get();
  alarm_->context = context_.get();
  context_->onFailure([alarm = alarm_, flight = flight_](const Status& cause) {
    alarm->spread(cause);
    reportFailure(*flight, cause, alarm->exceptionLocations());
  });
  links_->onFailure([alarm = alarm_](uint32_t, const Status& cause) { alarm->raise(cause); });
  tasks_ = std::make_unique<executor::TaskPool>(*context_);
  const CommSettings& s = params_.settings;
  HCCL_ASSIGN_OR_RETURN(const plan::LevelClasses classes, levelClasses(params_.cluster, topology_));
  sharesMemory_ = topology_.servers.size() == 1 && classes.inside == plan::CostClass::kShared;
  chooser_ = std::make_unique<plan::Chooser>(
      topology_, plan::Policy{s.algo, s.deterministic == 2, classes, s.algoTable});
  runtime::noteHostRanks(
      static_cast<uint32_t>(topology_.servers[topology_.serverOf[rank()]].size()));
  startStatusServer();
  return Status::ok();
}

Status Communicator::usable() const {
  if (closed_.load(std::memory_order_acquire)) {
    return Status(HCCL_E_UNAVAIL, "communicator " + params_.name + " has been destroyed");
  }
  if (suspended_.load(std::memory_order_acquire)) {
    return Status(HCCL_E_SUSPENDING, "communicator " + params_.name + " is suspended");
  }
  if (context_->failed()) return context_->failure();
  return Status::ok();
}

// A rank that cannot be reached ends the communicator for all: whoever waits for this rank learns
// whom it waited for.
Status Communicator::connectPeers(const std::vector<uint32_t>& peers, transport::LinkKind kind) {
  Status status = context_->connect(peers, kind, linkDeadline());
  if (status.isOk() || status.code() == HCCL_E_UNAVAIL) return status;
  context_->fail(status);
  return context_->failure();
}

Deadline Communicator::linkDeadline() const {
  const auto env = environment();
  return Deadline::after(env.isOk() ? (*env)->linkTimeoutSec() : 140);
}

Result<const Communicator::CachedPlan*> Communicator::planFor(const plan::OpDesc& op,
                                                              const plan::Choice& choice) {
  // Strict order leaves no other algorithm to turn to.
  if (choice.level1 == nullptr && size() > 1 &&
      !choice.level0->algorithm->supportsSize(plan::stageOpOf(op.type), size())) {
    return eiError(Ei::kConfig, HCCL_E_NOT_SUPPORT,
                   {"strict", "HCCL_DETERMINISTIC",
                    fmt::format("true or false for a reduction of {} ranks", size())});
  }
  const PlanKey key{static_cast<uint8_t>(op.type), op.root, choice.key()};
  const auto found = plans_.find(key);
  if (found != plans_.end()) return &found->second;

  CachedPlan cached;
  const plan::Schedule schedule = plan::compose(op, topology_, choice);
  const std::vector<uint32_t> peers = plan::peersOf(schedule, rank());
  HCCL_RETURN_IF_ERROR(connectPeers(peers, transport::LinkKind::kCollective));
  auto lowered =
      std::make_shared<plan::Plan>(plan::lower(op, schedule, rank(), [this](uint32_t peer) {
        return context_->peer(peer).link->linkClass == transport::LinkClass::kMessage
                   ? plan::PeerLink::kMessage
                   : plan::PeerLink::kDirect;
      }));
  cached.plan = std::move(lowered);
  cached.algorithm = lastingName(cached.plan->name);
  logChoice(op, choice, cached);
  return &plans_.emplace(key, std::move(cached)).first->second;
}

void Communicator::logChoice(const plan::OpDesc& op, const plan::Choice& choice,
                             const CachedPlan& cached) const {
  if (!choice.note.empty()) {
    HCCL_RUN_INFO("[ALG] {} of {}: {}", plan::opName(op.type), params_.name, choice.note);
  }
  HCCL_RUN_INFO(
      "[ALG] tag[{}_{}] AlgType(level 0-1-2):[{}], oneShot[{}], userRank[{}], userRankSize[{}], "
      "steps[{}]",
      plan::opName(op.type), params_.name, cached.plan->name, choice.oneShot() ? 1 : 0, rank(),
      size(), cached.plan->steps.size());
  const auto env = environment();
  if (!env.isOk() || ((*env)->debugConfig & kDebugAlg) == 0) return;
  const bool flat = choice.level1 == nullptr && choice.level2 == nullptr;
  const auto nameOf = [](const plan::AlgorithmRow* row) {
    return row == nullptr ? "null" : row->logName;
  };
  HCCL_RUN_INFO(
      "[ALG] newTag[{}_{}_{}{}_host] algName[{}] level0:{},level1:{},level2:{} userRank[{}] "
      "userRankSize[{}] level0Size[{}] moduleNum_[{}] level2Size[{}] opExpansionMode[{}] "
      "deterministic[{}] chunk[{}] chosen by[{}]",
      plan::opName(op.type), params_.name, cached.plan->name, choice.oneShot() ? "_oneshot" : "",
      choice.text(), nameOf(choice.level0), nameOf(choice.level1), nameOf(choice.level2), rank(),
      size(), flat ? size() : topology_.servers[topology_.serverOf[rank()]].size(),
      topology_.servers.size(), topology_.superPods.size(), params_.settings.opExpansionMode,
      params_.settings.deterministic, choice.chunkBytes, choice.why);
}

Result<const Communicator::Decision*> Communicator::decide(const plan::OpDesc& op) {
  const uint64_t mixed = (op.count * 31 + static_cast<uint64_t>(op.type)) * 0x9e3779b97f4a7c15ULL;
  Decision& decision = decisions_[mixed >> 60];
  if (decision.plan != nullptr && decision.op == op) return &decision;
  decision.plan = nullptr;
  const plan::Choice& choice = chooser_->choose(op, agreedBytes(op, size()));
  for (const std::string& note : chooser_->takeNotes()) HCCL_RUN_WARNING("[ALG] {}", note);
  HCCL_ASSIGN_OR_RETURN(const CachedPlan* plan, planFor(op, choice));
  decision = {op, plan, choice.chunkBytes};
  if (decision.chunkBytes == 0) decision.chunkBytes = usualChunkBytes(sharesMemory_);
  return &decision;
}

Status Communicator::collective(const CollectiveCall& call, runtime::Stream* stream) {
  HCCL_RETURN_IF_ERROR(enqueueCollective(call, stream));
  runtime::assist(stream);
  return Status::ok();
}

Status Communicator::enqueueCollective(const CollectiveCall& call, runtime::Stream* stream) {
  std::lock_guard lock(mutex_);
  HCCL_RETURN_IF_ERROR(usable());
  plan::OpDesc op;
  op.type = call.type;
  op.dataType = call.dataType;
  op.reduceOp = call.reduceOp;
  op.root = call.root;
  op.count = agreedCount(call, size());
  HCCL_ASSIGN_OR_RETURN(const Decision* decision, decide(op));
  const CachedPlan* cached = decision->plan;
  std::shared_ptr<const plan::Plan>& last = lastPlan_[static_cast<uint8_t>(op.type)];
  if (last != cached->plan) last = cached->plan;
  executor::CollectiveTask* task = tasks_->collective();
  executor::Launch& launch = task->launch;
  if (launch.plan != cached->plan) launch.plan = cached->plan;
  launch.op = op;
  if (Status s = fillLaunch(call, rank(), size(), params_.settings.bufferBytes,
                            decision->chunkBytes, launch);
      !s.isOk()) {
    task->discard();
    return s;
  }
  task->isBrief = std::max(launch.inputBytes, launch.outputBytes) <= kBriefBytes;
  launch.sequence = context_->takeSequence();
  launch.ticket = context_->recorder().queued(
      {launch.sequence, call.count, call.root, static_cast<uint8_t>(call.type),
       static_cast<uint8_t>(call.dataType), static_cast<uint8_t>(call.reduceOp),
       static_cast<uint32_t>(runtime::streamId(stream)), cached->algorithm});
  Status queued = runtime::enqueue(stream, task);
  if (!queued.isOk()) {
    task->discard();
    context_->fail(queued);  // the number is gone: later operations would wait for it
  }
  return queued;
}

Status Communicator::transfers(const std::vector<executor::TransferItem>& items,
                               runtime::Stream* stream) {
  HCCL_RETURN_IF_ERROR(enqueueTransfers(items, stream));
  runtime::assist(stream);
  return Status::ok();
}

Status Communicator::enqueueTransfers(const std::vector<executor::TransferItem>& items,
                                      runtime::Stream* stream) {
  std::lock_guard lock(mutex_);
  HCCL_RETURN_IF_ERROR(usable());
  std::vector<uint32_t> peers;
  std::vector<executor::TransferItem> own[2];  // sends, receives
  for (const executor::TransferItem& item : items) {
    if (item.peer == rank()) {
      own[item.send ? 0 : 1].push_back(item);
    } else if (std::find(peers.begin(), peers.end(), item.peer) == peers.end()) {
      peers.push_back(item.peer);
    }
  }
  if (own[0].size() != own[1].size()) {
    return argumentError(
        HCCL_E_PARA, "HcclBatchSendRecv",
        std::to_string(own[0].size()) + " sends and " + std::to_string(own[1].size()) + " receives",
        "sendRecvInfo", "as many sends to the own rank as receives from it");
  }
  HCCL_RETURN_IF_ERROR(connectPeers(peers, transport::LinkKind::kPointToPoint));
  executor::TransferTask* task = tasks_->transfer();
  for (size_t i = 0; i < own[0].size(); ++i) {
    const uint64_t bytes = own[0][i].count * reduce::typeSize(own[0][i].dataType);
    if (bytes != own[1][i].count * reduce::typeSize(own[1][i].dataType)) {
      task->discard();
      return argumentError(
          HCCL_E_PARA, "HcclBatchSendRecv", std::to_string(own[1][i].count), "count",
          "the count of the send that it matches, " + std::to_string(own[0][i].count));
    }
    task->selfCopies.push_back({own[0][i].buffer, own[1][i].buffer, bytes});
  }
  uint64_t elements = 0;
  uint64_t bytes = 0;
  for (const executor::TransferItem& item : items) {
    bytes += item.count * reduce::typeSize(item.dataType);
    if (item.peer == rank()) continue;
    executor::PointToPointPeer& pair = context_->pointToPoint(item.peer);
    executor::PairLane& lane = item.send ? pair.send : pair.receive;
    task->items.push_back(item);
    elements += item.count;
    task->items.back().ticket = lane.tickets.fetch_add(1, std::memory_order_relaxed);
  }
  task->isBrief = bytes <= kBriefBytes;
  task->ticket = context_->recorder().queued(
      {0, elements, 0, HCCL_CMD_BATCH_SEND_RECV,
       static_cast<uint8_t>(items.empty() ? HCCL_DATA_TYPE_INT8 : items[0].dataType),
       HCCL_REDUCE_RESERVED, static_cast<uint32_t>(runtime::streamId(stream)), "pairs"});
  Status queued = runtime::enqueue(stream, task);
  if (!queued.isOk()) {
    task->discard();
    context_->fail(queued);
  }
  return queued;
}

Status Communicator::shutdown() {
  if (closed_.exchange(true)) return Status::ok();
  if (flight_ != nullptr) flight_->isClosed.store(true, std::memory_order_relaxed);
  if (links_ == nullptr) return Status::ok();
  links_->cancel();
  std::lock_guard lock(mutex_);
  if (tasks_->inFlight() != 0) {
    context_->fail(Status(HCCL_E_UNAVAIL, "communicator " + params_.name + " was destroyed"));
    runtime::Engine::instance().helpUntil([this] { return tasks_->inFlight() == 0; },
                                          Deadline::after(kShutdownSeconds));
  }
  plans_.clear();
  decisions_.fill({});
  lastPlan_ = {};
  links_->onFailure({});
  alarm_->disarm();
  if (tasks_->inFlight() != 0) {
    // A stream does not let go of its tasks (it is stuck in a host function): they keep what they
    // need.
    HCCL_WARNING("communicator {} is destroyed with {} operations on stuck streams", params_.name,
                 tasks_->inFlight());
    bury(std::move(links_), std::move(context_), std::move(tasks_));
    return Status::ok();
  }
  tasks_.reset();
  context_->onFailure({});
  context_.reset();
  links_.reset();
  return Status::ok();
}

Status Communicator::asyncError() const {
  if (closed_.load(std::memory_order_acquire)) return Status::ok();
  return context_->failure();
}

size_t Communicator::pending() const {
  return closed_.load(std::memory_order_acquire) ? 0 : tasks_->inFlight();
}

void Communicator::setDeterministic(uint32_t level) {
  std::lock_guard lock(mutex_);
  if (params_.settings.deterministicFromConfig) return;
  params_.settings.deterministic = level;
  chooser_->setStrict(level == 2);
  decisions_.fill({});
}

Result<std::pair<void*, uint64_t>> Communicator::stagingBuffer() {
  std::lock_guard lock(mutex_);
  HCCL_RETURN_IF_ERROR(usable());
  if (userBuffer_ == nullptr) userBuffer_ = std::make_unique<executor::Staging>(params_.device);
  HCCL_RETURN_IF_ERROR(userBuffer_->reserve(2 * params_.settings.bufferBytes));
  return std::pair<void*, uint64_t>(userBuffer_->data(), 2 * params_.settings.bufferBytes);
}

Result<std::byte*> Communicator::peerPointer(uint32_t peer, uint64_t bufferRef, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  HCCL_RETURN_IF_ERROR(usable());
  HCCL_RETURN_IF_ERROR(context_->connect({peer}, transport::LinkKind::kCollective, linkDeadline()));
  transport::DirectLink* direct = context_->peer(peer).direct;
  std::byte* address = direct == nullptr ? nullptr : direct->resolve(bufferRef, bytes);
  if (address == nullptr) {
    return eiError(Ei::kP2p, HCCL_E_NOT_SUPPORT,
                   {"the memory of rank " + std::to_string(peer) + " cannot be mapped by rank " +
                    std::to_string(rank())},
                   static_cast<int>(peer));
  }
  return address;
}

std::string Communicator::lastAlgorithm(HcclCMDType type) const {
  std::lock_guard lock(mutex_);
  const auto& plan = lastPlan_[static_cast<uint8_t>(type)];
  return plan == nullptr ? std::string() : plan->name;
}

std::pair<uint64_t, uint64_t> Communicator::interServerBytes() const {
  std::lock_guard lock(mutex_);
  std::pair<uint64_t, uint64_t> bytes{0, 0};
  if (context_ == nullptr) return bytes;
  for (uint32_t r = 0; r < size(); ++r) {
    if (topology_.serverOf[r] == topology_.serverOf[rank()]) continue;
    const transport::MessageLink* message = context_->peer(r).message;
    if (message == nullptr) continue;
    bytes.first += message->bytesSent();
    bytes.second += message->bytesReceived();
  }
  return bytes;
}

void logKeyInfo(const Communicator& communicator) {
  const Cluster& cluster = communicator.cluster();
  const RankInfo& self = cluster.ranks[communicator.rank()];
  const bool equal = cluster.hasEqualServers();
  HCCL_RUN_INFO(
      "[Communicator Key Info]identifier[{}] rankSize[{}] serverNum[{}] moduleNum[{}] "
      "superPodNum[{}] "
      "multiModuleDiffDeviceNumMode[{}] multiSuperPodDiffServerNumMode[{}]",
      communicator.name(), cluster.size(), cluster.servers().size(), cluster.servers().size(),
      cluster.superPods().size(), equal ? 0 : 1, 0);
  HCCL_RUN_INFO(
      "[LocalRank Key Info]userRank[{}] hostIp[{}] devicePhyId[{}] server[{}] deviceIp[{}] "
      "superPodId[{}] "
      "useSuperPodMode[{}] isStandardCard[0]",
      communicator.rank(), self.hostIp, self.deviceId, self.serverId,
      self.deviceIps.empty() ? "" : self.deviceIps[0],
      self.superPodId.empty() ? "0" : self.superPodId, cluster.superPods().empty() ? 0 : 1);
}

}  // namespace hccl
