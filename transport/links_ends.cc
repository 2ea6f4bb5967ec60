// How links of a communicator end: peers that fail, leave, abort or announce that they wait, and
// this rank's own end.
#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "src/base/log.h"
#include "src/runtime/engine.h"
#include "transport/control_thread.h"
#include "transport/links_core.h"

namespace hccl::transport {

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
  HCCL_ERROR("[TaskExecStage][RunFailed]{}", status.text());
  // The peers hear of it first: this rank's program may end at once when it gets the error, and
  // whoever sees only that would name this rank.
  abort(status);
  auto thread = ControlThread::instance();
  if (!thread.isOk()) return;
  (*thread)->post([self = shared_from_this(), peer, status] {
    if (const Links::Failure callback = self->failureCallback()) callback(peer, status);
    runtime::Engine::instance().wake();
  });
}

Links::Failure LinksCore::failureCallback() {
  std::lock_guard lock(mutex_);
  return failure_;
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
  // At once, before the reporter's farewell is read.
  const Links::Failure callback = failureCallback();
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
    if (self->closed_ || std::exchange(self->hasSpread_, true)) return;
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

}  // namespace hccl::transport
