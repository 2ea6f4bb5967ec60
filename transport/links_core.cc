#include "transport/links_core.h"

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "src/runtime/engine.h"
#include "transport/control_thread.h"
#include "transport/link_error_info.h"

namespace hccl::transport {

Digest baseId(const LinksConfig& config) {
  std::string text = config.communicator;
  for (const RankCard& card : config.cards) {
    text += fmt::format("\n{} ", card.rank);
    text += card.endpoint;
  }
  return sha256(text);
}

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

}  // namespace hccl::transport
