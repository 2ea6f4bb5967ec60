#include "transport/heartbeat.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "transport/links_core.h"

namespace hccl::transport {
namespace {

constexpr size_t kMaxEvents = 5000;
constexpr size_t kMaxLocations = 3;
constexpr int kExecTimeoutEi = 2;
constexpr int kInconsistentEi = 5;
constexpr int kCqeEi = 13;

struct Words {
  ClusterEvent kind;
  const char* status;  // in the line of the event
  const char* type;    // in the conclusion
  const char* reason;
};
// The most telling first.
constexpr std::array kWords = {
    Words{ClusterEvent::kRetryNotSupported, "OPRETRY_NOT_SUPPORT", "OpRetry Not Supported Occurred",
          "OpRetry is not supported"},
    Words{ClusterEvent::kCqeError, "ERROR CQE", "Error cqe Occurred",
          "1.Network Disconnected, 2.Remote Rank Coredown"},
    Words{ClusterEvent::kStuck, "STUCK", "Stuck Occurred",
          "1.Host process is stuck, 2.Device task is stuck"},
    Words{ClusterEvent::kLost, "LOST", "Heartbeat Lost Occurred",
          "1. Process has exited, 2. Network Disconnected"},
    Words{ClusterEvent::kInconsistent, "INCONSISTENT", "Op Inconsistent Occurred",
          "communication operator is inconsistent"},
};

const Words* wordsOf(ClusterEvent kind) {
  const auto* it = std::find_if(kWords.begin(), kWords.end(),
                                [kind](const Words& words) { return words.kind == kind; });
  return it == kWords.end() ? nullptr : it;
}

}  // namespace

void Heartbeat::begin(ControlThread* thread) {
  thread_ = thread;
  const HeartbeatConfig& config = core_->config().heartbeat;
  const uint64_t now = monotonicNs();
  for (const uint32_t rank : config.neighbours) {
    const auto card = core_->card(rank);
    // Ranks of one process live and die together.
    if (!card.isOk() || (*card)->sameProcess(core_->mine())) continue;
    neighbours_[rank].heardNs = config.fromStart ? now : 0;
  }
  stuckLookNs_ = now;
  tickedNs_ = now;
  tick();
}

void Heartbeat::end() {
  if (timer_ != 0) thread_->cancel(timer_);
  timer_ = 0;
  neighbours_.clear();
}

void Heartbeat::tick() {
  const HeartbeatConfig& config = core_->config().heartbeat;
  timer_ = thread_->at(Deadline::after(config.periodMs * 1e-3), [this] { tick(); });
  const uint64_t now = monotonicNs();
  // Whoever was stopped itself has missed nothing: what came meanwhile still waits to be read.
  const bool wasStopped = now - tickedNs_ > config.lostMs * uint64_t{500'000};
  tickedNs_ = now;
  for (auto& [rank, neighbour] : neighbours_) {
    if (wasStopped && neighbour.heardNs != 0) neighbour.heardNs = now;
    watch(rank, neighbour, now);
  }
  lookForStuck(now);
}

void Heartbeat::watch(uint32_t rank, Neighbour& neighbour, uint64_t now) {
  const HeartbeatConfig& config = core_->config().heartbeat;
  Pair* pair = core_->pair(rank);
  if (pair == nullptr || pair->isOver() || neighbour.lost) return;
  if (pair->hasChannel()) {
    pair->sendHeartbeat({rank, core_->rank(), static_cast<uint32_t>(ClusterEvent::kOk)});
  } else {
    pair->wantChannel(Deadline::after(config.periodMs * 2e-3));
  }
  if (neighbour.heardNs == 0 || now - neighbour.heardNs < config.lostMs * uint64_t{1'000'000}) {
    return;
  }
  neighbour.lost = true;
  learn(ClusterEvent::kLost, rank, core_->rank(), -1);
}

// An operation that was under way at the last look and has not ended, while no other began.
void Heartbeat::lookForStuck(uint64_t now) {
  const HeartbeatConfig& config = core_->config().heartbeat;
  if (config.stuckMs == 0 || !config.progress ||
      now - stuckLookNs_ < config.stuckMs * uint64_t{1'000'000}) {
    return;
  }
  stuckLookNs_ = now;
  const auto before = std::exchange(progress_, config.progress());
  if (before == progress_ && progress_.first != progress_.second) {
    learn(ClusterEvent::kStuck, core_->rank(), core_->rank(), -1);
  }
}

void Heartbeat::onSign(uint32_t peer, const HeartbeatBody& body) {
  const auto it = neighbours_.find(peer);
  if (it != neighbours_.end()) it->second.heardNs = monotonicNs();
  if (body.crimer >= core_->size() || body.informer >= core_->size()) return;
  const auto kind = static_cast<ClusterEvent>(body.event);
  if (wordsOf(kind) != nullptr) learn(kind, body.crimer, body.informer, peer);
}

void Heartbeat::onOwnFailure(const Status& cause) {
  if (cause.culprit() < 0 || cause.culprit() >= static_cast<int>(core_->size())) return;
  const auto culprit = static_cast<uint32_t>(cause.culprit());
  if (cause.eiCode() == kCqeEi) learn(ClusterEvent::kCqeError, culprit, core_->rank(), -1);
  if (cause.eiCode() == kInconsistentEi) {
    learn(ClusterEvent::kInconsistent, culprit, core_->rank(), -1);
  }
}

void Heartbeat::learn(ClusterEvent kind, uint32_t crimer, uint32_t informer, int64_t from) {
  if (timer_ == 0 || !known_.emplace(kind, crimer).second) return;
  HCCL_RUN_WARNING(
      "[TaskExecStage][HeartbeatAbnormal]local rank [{}]: crimer rank [{}] status[{}] by informer "
      "rank [{}]",
      nameOf(core_->rank()), nameOf(crimer), wordsOf(kind)->status, nameOf(informer));
  {
    std::lock_guard lock(mutex_);
    if (events_.size() < kMaxEvents) events_.push_back({kind, crimer, informer, wallClockText()});
  }
  for (const auto& [rank, neighbour] : neighbours_) {
    Pair* pair = static_cast<int64_t>(rank) == from ? nullptr : core_->pair(rank);
    if (pair != nullptr) pair->sendHeartbeat({crimer, informer, static_cast<uint32_t>(kind)});
  }
  // Who lost this rank tells it so when it moves again: it has nothing to add.
  if (kind == ClusterEvent::kLost && crimer != core_->rank()) fail(crimer, informer);
}

void Heartbeat::fail(uint32_t crimer, uint32_t informer) {
  core_->peerFailed(
      crimer,
      Status(HCCL_E_REMOTE,
             fmt::format("A timeout occurs when the Notify register waits for execution. Waiting "
                         "peer rank: {}; task information: no heartbeat of rank {} at {} for {} "
                         "ms, found by rank {}: it is frozen, or the network to it is cut; "
                         "communication operator information: heartbeat; communicator: {}.",
                         crimer, crimer, nameOf(crimer), core_->config().heartbeat.lostMs, informer,
                         core_->config().communicator),
             kExecTimeoutEi, static_cast<int>(crimer)));
}

std::string Heartbeat::nameOf(uint32_t rank) const {
  const auto& names = core_->config().heartbeat.names;
  return rank < names.size() ? names[rank] : fmt::format("rank {}", rank);
}

std::string Heartbeat::lineOf(const Event& event) const {
  const Words& words = *wordsOf(event.kind);
  const std::string discoverer = event.kind == ClusterEvent::kLost
                                     ? fmt::format("Discoverer:[{}], ", nameOf(event.informer))
                                     : std::string();
  return fmt::format(
      "[TaskExecStage][HeartbeatAbnormal]Cluster Exception Location[IP/ID]:[{}], Arrival "
      "Time:[{}], {}ExceptionType:[{}], Possible Reason:{}",
      nameOf(event.crimer), event.time, discoverer, words.type, words.reason);
}

std::vector<std::string> Heartbeat::locations() const {
  std::vector<std::string> lines;
  std::lock_guard lock(mutex_);
  for (const Words& words : kWords) {
    for (const Event& event : events_) {
      if (event.kind == words.kind && lines.size() < kMaxLocations) lines.push_back(lineOf(event));
    }
  }
  return lines;
}

}  // namespace hccl::transport
