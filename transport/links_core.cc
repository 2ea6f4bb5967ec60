#include "transport/links_core.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/base/log.h"
#include "src/runtime/engine.h"
#include "transport/control_thread.h"
#include "transport/link_error_info.h"

namespace hccl::transport {
namespace {

Digest baseId(const LinksConfig& config) {
  std::string text = config.communicator;
  for (const RankCard& card : config.cards) {
    text += fmt::format("\n{} ", card.rank);
    text += card.endpoint;
  }
  return sha256(text);
}

}  // namespace

Result<std::shared_ptr<LinksCore>> LinksCore::make(const LinksConfig& config, const Card& mine,
                                                   uint64_t generation) {
  std::shared_ptr<LinksCore> core(new LinksCore(config));
  core->mine_ = mine;
  core->size_ = static_cast<uint32_t>(config.cards.size());
  std::string text = fmt::format("{} ", generation);
  text += bytesOf(baseId(config));
  core->id_ = sha256(text);
  core->key_ = hmac(sha256(config.secret), bytesOf(core->id_));
  core->ready_ = std::make_unique<std::atomic<Link*>[]>(static_cast<size_t>(core->size_) * 2);
  core->slots_.resize(core->size_);
  // The link of a rank to itself needs nothing.
  std::vector<MadeLink> self;
  for (const LinkKind kind : kKinds) {
    MadeLink& made = self.emplace_back();
    made.kind = kind;
    made.link = std::make_unique<Link>();
    made.link->peer = config.rank;
    made.link->linkClass = LinkClass::kSelf;
    made.link->description = "self";
  }
  core->publish(config.rank, &self);
  return core;
}

Result<const Card*> LinksCore::card(uint32_t peer) {
  std::lock_guard lock(mutex_);
  const auto known = cards_.find(peer);
  if (known != cards_.end()) return &known->second;
  HCCL_ASSIGN_OR_RETURN(Card card, Card::parse(config_.cards[peer].endpoint));
  // Where a link-local address is meant, this host's own interface leads there.
  if (card.tcp.ip.isLinkLocal()) card.tcp.ip.setIfname(mine_.tcp.ip.ifname());
  return &cards_.emplace(peer, std::move(card)).first->second;
}

Pair* LinksCore::pair(uint32_t peer) {
  if (closed_ || peer >= size_ || peer == config_.rank) return nullptr;
  auto& slot = pairs_[peer];
  if (slot) return slot.get();
  const auto theirs = card(peer);
  auto thread = ControlThread::instance();
  if (!theirs.isOk() || !thread.isOk() || (*theirs)->wire != kWireVersion) {
    pairs_.erase(peer);
    return nullptr;
  }
  slot = std::make_unique<Pair>(this, *thread, peer, **theirs);
  return slot.get();
}

// Sets off what has to be done for one peer; what is not ready afterwards is waited for.
Status LinksCore::startPeer(uint32_t peer, LinkKind kind, Deadline deadline) {
  HCCL_ASSIGN_OR_RETURN(const Card* theirs, card(peer));
  HCCL_RETURN_IF_ERROR(checkVersion(*theirs, peer));
  if (theirs->sameProcess(mine_)) {
    bool joined = false, later = false;
    HCCL_RETURN_IF_ERROR(Registry::instance().joinLocal(shared_from_this(), peer, &joined, &later));
    if (joined || later) return Status();
  }
  callPeer(peer, kind, deadline);
  return Status();
}

void LinksCore::callPeer(uint32_t peer, LinkKind kind, Deadline deadline) {
  auto thread = ControlThread::instance();
  if (!thread.isOk()) return setHopeless(peer, thread.status());
  (*thread)->post([self = shared_from_this(), peer, kind, deadline] {
    if (Pair* pair = self->pair(peer)) pair->want(kind, deadline);
  });
}

void LinksCore::callWanted(uint32_t peer) {
  std::array<uint32_t, 2> waiters;
  {
    std::lock_guard lock(mutex_);
    waiters = slots_[peer].waiters;
  }
  for (const LinkKind kind : kKinds) {
    if (waiters[static_cast<size_t>(kind)] == 0) continue;
    callPeer(peer, kind, Deadline::after(config_.connectTimeout));
  }
}

Status LinksCore::connect(const std::vector<uint32_t>& peers, LinkKind kind, Deadline deadline) {
  if (runtime::isForkedChild()) {
    return Status(HCCL_E_UNAVAIL, "a communicator cannot be used in a forked child process");
  }
  const uint64_t start = monotonicNs();
  std::vector<uint32_t> missingPeers;
  uint64_t cancels;
  {
    std::lock_guard lock(mutex_);
    cancels = cancels_;
    for (const uint32_t peer : peers) {
      if (peer >= size_) {
        return Status(HCCL_E_PARA, fmt::format("rank {} is not one of the {} ranks of {}", peer,
                                               size_, config_.communicator));
      }
      const bool found = find(peer, kind) != nullptr;
      if (isOver(peer, found)) return slots_[peer].ended;
      if (!found) missingPeers.push_back(peer);
    }
    if (missingPeers.empty()) return Status();
    for (const uint32_t peer : missingPeers) ++slots_[peer].waiters[static_cast<size_t>(kind)];
  }
  Status status;
  for (const uint32_t peer : missingPeers) {
    status = startPeer(peer, kind, deadline);
    if (!status.isOk()) break;
  }
  std::unique_lock lock(mutex_);
  const auto over = [&] {
    if (cancels_ != cancels) {
      status = Status(HCCL_E_UNAVAIL, "Terminating operation due to external request");
      return true;
    }
    bool all = true;
    if (!aborted_.isOk()) status = aborted_;
    for (const uint32_t peer : missingPeers) {
      const bool found = find(peer, kind) != nullptr;
      if (isOver(peer, found)) status = slots_[peer].ended;
      if (found) continue;
      all = false;
      if (!slots_[peer].hopeless.isOk()) status = slots_[peer].hopeless;
    }
    return all || !status.isOk();
  };
  while (status.isOk() && !over()) {
    if (deadline.isNever()) {
      changed_.wait(lock);
    } else if (deadline.expired()) {
      status = missing(missingPeers, kind, static_cast<double>(monotonicNs() - start) * 1e-9);
    } else {
      changed_.wait_for(lock, std::chrono::milliseconds(deadline.remainingMs()));
    }
  }
  for (const uint32_t peer : missingPeers) --slots_[peer].waiters[static_cast<size_t>(kind)];
  return status;
}

// EI0006 with everything that is known about the peers that did not answer. mutex_ is held.
Status LinksCore::missing(const std::vector<uint32_t>& peers, LinkKind kind, double seconds) {
  constexpr size_t kTold = 8;
  std::string names, reasons;
  LinkErrorFacts facts{config_.communicator,
                       config_.rank,
                       config_.device,
                       mine_.tcp.toString(),
                       heartbeat_.nameOf(config_.rank),
                       seconds,
                       {}};
  size_t count = 0;
  int first = kNoRank;
  for (const uint32_t peer : peers) {
    if (find(peer, kind) != nullptr) continue;
    if (first == kNoRank) first = static_cast<int>(peer);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", peer);
    const auto known = cards_.find(peer);
    facts.rows.push_back({peer, known == cards_.end() ? "?" : known->second.tcp.toString(),
                          heartbeat_.nameOf(peer), slots_[peer].reason});
    if (count++ >= kTold) continue;
    reasons += fmt::format(" Rank {} at {}: {}.", peer,
                           known == cards_.end() ? "?" : known->second.tcp.toString(),
                           slots_[peer].reason.empty() ? "no answer" : slots_[peer].reason);
  }
  logLinkErrors(facts);
  return Status(HCCL_E_TIMEOUT,
                fmt::format("Getting socket times out. Reason: rank {} of communicator {} got no "
                            "connection with rank [{}] within {:.1f} s.{}",
                            config_.rank, config_.communicator, names, seconds, reasons),
                6, first);
}

void LinksCore::cancel() {
  std::lock_guard lock(mutex_);
  ++cancels_;
  changed_.notify_all();
}

void LinksCore::setFailure(Links::Failure callback) {
  std::lock_guard lock(mutex_);
  failure_ = std::move(callback);
}

bool LinksCore::hasLeft(uint32_t peer) const {
  std::lock_guard lock(mutex_);
  return peer < size_ && slots_[peer].left;
}

bool LinksCore::isWanted(uint32_t peer) const {
  std::lock_guard lock(mutex_);
  return slots_[peer].waiters[0] + slots_[peer].waiters[1] != 0;
}

void LinksCore::publish(uint32_t peer, std::vector<MadeLink>* links) {
  std::lock_guard lock(mutex_);
  for (MadeLink& made : *links) {
    auto& ready = ready_[index(peer, made.kind)];
    if (ready.load(std::memory_order_relaxed) != nullptr) continue;
    ready.store(made.link.get(), std::memory_order_release);
    links_.push_back(std::move(made.link));
    if (made.onPeerLeft) slots_[peer].onLeft.push_back(made.onPeerLeft);
  }
  changed_.notify_all();
}

void LinksCore::setReason(uint32_t peer, std::string reason) {
  std::lock_guard lock(mutex_);
  slots_[peer].reason = std::move(reason);
}

void LinksCore::setHopeless(uint32_t peer, const Status& status) {
  std::lock_guard lock(mutex_);
  if (slots_[peer].hopeless.isOk()) slots_[peer].hopeless = status;
  changed_.notify_all();
}

// A link to a peer that left in good order may still hold what it sent before. mutex_ is held.
bool LinksCore::isOver(uint32_t peer, bool hasLink) const {
  return !slots_[peer].ended.isOk() && !(hasLink && slots_[peer].inOrder);
}

// The first end of a peer that is known counts. False when there was one already.
bool LinksCore::end(uint32_t peer, const Status& status, bool inOrder) {
  std::lock_guard lock(mutex_);
  if (!slots_[peer].ended.isOk()) return false;
  slots_[peer].ended = status;
  slots_[peer].inOrder = inOrder;
  changed_.notify_all();
  return true;
}

void LinksCore::peerFailed(uint32_t peer, const Status& status) {
  if (!end(peer, status, false)) return;
  setAborted(status);
  HCCL_ERROR("[TaskExecStage][RunFailed]{}", status.text());
  Links::Failure callback;
  {
    std::lock_guard lock(mutex_);
    callback = failure_;
  }
  if (callback) callback(peer, status);
  runtime::Engine::instance().wake();
}

void LinksCore::peerLeft(uint32_t peer) {
  if (!end(peer,
           Status(
               HCCL_E_REMOTE,
               fmt::format("rank {} has destroyed its communicator {}", peer, config_.communicator),
               0, static_cast<int>(peer)),
           true)) {
    return;
  }
  {
    std::lock_guard lock(mutex_);
    for (const auto& tell : slots_[peer].onLeft) tell();
    slots_[peer].left = true;
    departures_.fetch_add(1, std::memory_order_release);
  }
  runtime::Engine::instance().wake();
}

void LinksCore::siblingLeft(const LinksCore& sibling) {
  const uint32_t peer = sibling.rank();
  if (allowsLocal() && sibling.allowsLocal()) return peerLeft(peer);
  auto thread = ControlThread::instance();
  if (!thread.isOk()) return;
  (*thread)->post([self = shared_from_this(), peer] {
    if (!self->closed_ && !self->hasChannel(peer)) self->peerLeft(peer);
  });
}

bool LinksCore::hasChannel(uint32_t peer) const {
  const auto it = pairs_.find(peer);
  return it != pairs_.end() && it->second && it->second->hasChannel();
}

void LinksCore::peerAborted(uint32_t peer, const Status& cause) {
  Links::Failure callback;
  {
    std::lock_guard lock(mutex_);
    callback = failure_;
  }
  setAborted(cause);
  if (!callback) return;
  // The text speaks of the reporter's operation; without its name it would read as our own.
  constexpr std::string_view kReporter = "Reported by rank ";
  if (cause.text().find(kReporter) != std::string::npos) return callback(peer, cause);
  callback(peer, Status(cause.code(), fmt::format("{} {}{}.", cause.text(), kReporter, peer),
                        cause.eiCode(), cause.culprit()));
}

// What waits for links of a failed communicator waits in vain.
void LinksCore::setAborted(const Status& cause) {
  {
    std::lock_guard lock(mutex_);
    if (aborted_.isOk()) aborted_ = cause;
    changed_.notify_all();
  }
  for (MessageLink* link : messageLinks()) link->abandon();
}

Status LinksCore::abortCause() const {
  std::lock_guard lock(mutex_);
  return aborted_;
}

void LinksCore::startHeartbeat() {
  auto thread = ControlThread::instance();
  if (!thread.isOk() || config_.heartbeat.periodMs == 0) return;
  (*thread)->post([self = shared_from_this(), thread = *thread] {
    if (!self->closed_) self->heartbeat_.begin(thread);
  });
}

void LinksCore::announce(const Announcement& own) {
  auto thread = ControlThread::instance();
  if (!thread.isOk()) return;
  (*thread)->post([self = shared_from_this(), own] {
    if (self->closed_) return;
    for (const auto& sibling : Registry::instance().siblings(*self)) {
      sibling->setAnnounced(self->rank(), own);
    }
    for (auto& [peer, pair] : self->pairs_) {
      if (pair) pair->sendContact(own);
    }
  });
}

void LinksCore::setAnnounced(uint32_t peer, const Announcement& theirs) {
  {
    std::lock_guard lock(mutex_);
    slots_[peer].hasAnnounced = true;
    slots_[peer].announcement = theirs;
  }
  runtime::Engine::instance().wake();
}

bool LinksCore::announced(uint32_t peer, Announcement& theirs) const {
  std::lock_guard lock(mutex_);
  if (peer >= size_ || !slots_[peer].hasAnnounced) return false;
  theirs = slots_[peer].announcement;
  return true;
}

void LinksCore::abort(const Status& cause) {
  setAborted(cause);
  auto thread = ControlThread::instance();
  if (!thread.isOk()) return;
  (*thread)->post([self = shared_from_this(), cause] {
    if (self->closed_) return;
    for (const auto& sibling : Registry::instance().siblings(*self)) {
      sibling->peerAborted(self->rank(), cause);
    }
    for (auto& [peer, pair] : self->pairs_) {
      if (pair) pair->sendAbort(cause);
    }
    self->heartbeat_.onOwnFailure(cause);
  });
}

std::vector<MessageLink*> LinksCore::messageLinks() {
  std::vector<MessageLink*> links;
  std::lock_guard lock(mutex_);
  for (const auto& link : links_) {
    if (link->message) links.push_back(link->message.get());
  }
  return links;
}

void LinksCore::flush(Deadline deadline) {
  for (MessageLink* link : messageLinks()) link->flush(deadline);
}

void LinksCore::close() {
  cancel();
  auto thread = ControlThread::instance();
  if (!thread.isOk()) return;
  (*thread)->run([this] {
    closed_ = true;
    heartbeat_.end();
    for (auto& [peer, pair] : pairs_) {
      if (pair) pair->sayBye();
    }
    pairs_.clear();
  });
}

// ---- registry -----------------------------------------------------------------------------------

Registry& Registry::instance() {
  static auto* registry = new Registry;
  return *registry;
}

Result<std::shared_ptr<LinksCore>> Registry::add(const LinksConfig& config) {
  if (config.rank >= config.cards.size()) {
    return Status(HCCL_E_PARA,
                  fmt::format("rank {} has no card among {}", config.rank, config.cards.size()));
  }
  for (size_t i = 0; i < config.cards.size(); ++i) {
    if (config.cards[i].rank != i) {
      return Status(HCCL_E_PARA,
                    fmt::format("card {} belongs to rank {}", i, config.cards[i].rank));
    }
  }
  HCCL_ASSIGN_OR_RETURN(const Card mine, Card::parse(config.cards[config.rank].endpoint));
  HCCL_RETURN_IF_ERROR(checkVersion(mine, config.rank));
  if (mine.process != processIdentity().process) {
    return Status(HCCL_E_PARA,
                  fmt::format("the card of rank {} is another process' one", config.rank));
  }
  std::lock_guard lock(mutex_);
  Lease& lease = leases_[mine.lease];
  // The n-th communicator of this name and these cards here meets the n-th one there.
  Digest base = baseId(config);
  const uint64_t generation = lease.generations[base]++;
  HCCL_ASSIGN_OR_RETURN(auto core, LinksCore::make(config, mine, generation));
  ++lease.live;
  cores_[{core->id(), core->rank()}] = core;
  // Ranks of this process that already wait for this one.
  for (auto it = cores_.lower_bound({core->id(), 0});
       it != cores_.end() && it->first.first == core->id(); ++it) {
    const auto& other = it->second;
    if (other == core || !other->isWanted(core->rank())) continue;
    if (other->allowsLocal() && core->allowsLocal()) {
      if (const Status status = joinLocked(other.get(), core.get()); !status.isOk()) {
        other->setHopeless(core->rank(), status);
      }
    } else {
      other->callWanted(core->rank());
    }
  }
  return core;
}

void Registry::remove(const std::shared_ptr<LinksCore>& core) {
  std::lock_guard lock(mutex_);
  cores_.erase({core->id(), core->rank()});
  for (auto it = cores_.lower_bound({core->id(), 0});
       it != cores_.end() && it->first.first == core->id(); ++it) {
    it->second->siblingLeft(*core);
  }
  if (--leases_[core->mine().lease].live == 0) {
    idleLeases_.push_back(core->mine().lease);
    forgetOldLeases();
  }
}

void Registry::forgetOldLeases() {
  while (idleLeases_.size() > kRememberedLeases) {
    const auto lease = leases_.find(idleLeases_.front());
    if (lease != leases_.end() && lease->second.live == 0) leases_.erase(lease);
    idleLeases_.pop_front();
  }
}

std::shared_ptr<LinksCore> Registry::find(const Digest& communicator, uint32_t rank) {
  std::lock_guard lock(mutex_);
  const auto it = cores_.find({communicator, rank});
  return it == cores_.end() ? nullptr : it->second;
}

std::vector<std::shared_ptr<LinksCore>> Registry::siblings(const LinksCore& core) {
  std::vector<std::shared_ptr<LinksCore>> found;
  std::lock_guard lock(mutex_);
  for (auto it = cores_.lower_bound({core.id(), 0});
       it != cores_.end() && it->first.first == core.id(); ++it) {
    if (it->second.get() != &core) found.push_back(it->second);
  }
  return found;
}

Status Registry::joinLocal(const std::shared_ptr<LinksCore>& core, uint32_t peer, bool* joined,
                           bool* later) {
  if (!core->allowsLocal()) return Status();
  std::lock_guard lock(mutex_);
  const auto it = cores_.find({core->id(), peer});
  if (it == cores_.end()) {
    *later = true;
    return Status();
  }
  if (!it->second->allowsLocal()) return Status();
  HCCL_RETURN_IF_ERROR(joinLocked(core.get(), it->second.get()));
  *joined = true;
  return Status();
}

Status Registry::joinLocked(LinksCore* core, LinksCore* peer) {
  if (core->find(peer->rank(), LinkKind::kCollective) != nullptr) return Status();
  if (!sameDigest(core->key(), peer->key())) {
    return Status(HCCL_E_PARA,
                  fmt::format("rank {} and rank {} of {} hold different secrets", core->rank(),
                              peer->rank(), core->config().communicator));
  }
  std::vector<MadeLink> mine, theirs;
  HCCL_RETURN_IF_ERROR(makeLocalLinks({core->rank(), core->config().device},
                                      {peer->rank(), peer->config().device}, &mine, &theirs));
  core->publish(peer->rank(), &mine);
  peer->publish(core->rank(), &theirs);
  return Status();
}

}  // namespace hccl::transport
