// LinksCore: the state of one rank in one communicator that its owner, the ranks of the same
// process and the control thread share.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/card.h"
#include "transport/heartbeat.h"
#include "transport/pair.h"
#include "transport/setup.h"
#include "transport/transport.h"
#include "transport/wire.h"

namespace hccl::transport {

// Of the communicator's name and members; equal for all communicators made alike.
Digest baseId(const LinksConfig& config);

class LinksCore : public std::enable_shared_from_this<LinksCore> {
 public:
  // HCCL_E_PARA when the configuration is broken.
  static Result<std::shared_ptr<LinksCore>> make(const LinksConfig& config, const Card& mine,
                                                 uint64_t generation);

  // As in Links.
  Status connect(const std::vector<uint32_t>& peers, LinkKind kind, Deadline deadline);
  Link* find(uint32_t peer, LinkKind kind) const noexcept {
    if (peer >= size_) return nullptr;
    return ready_[index(peer, kind)].load(std::memory_order_acquire);
  }
  void cancel();
  void setFailure(Links::Failure callback);
  bool hasLeft(uint32_t peer) const;
  uint64_t departures() const { return departures_.load(std::memory_order_acquire); }

  // Before close(), on the user's thread: what was sent leaves this process.
  void flush(Deadline deadline);
  // Tells every peer that has a channel, or is in this process, why this rank's operations have
  // failed.
  void abort(const Status& cause);
  void announce(const Announcement& own);
  bool announced(uint32_t peer, Announcement& theirs) const;
  void setAnnounced(uint32_t peer, const Announcement& theirs);
  // Why this rank's operations have failed, or OK.
  Status abortCause() const;
  std::vector<std::string> exceptionLocations() const { return heartbeat_.locations(); }
  Heartbeat& heartbeat() { return heartbeat_; }  // control thread only
  void startHeartbeat();

  // Ends everything on the control thread: goodbyes are said, no callback comes any more.
  void close();

  const LinksConfig& config() const { return config_; }
  const Digest& id() const { return id_; }
  const Digest& key() const { return key_; }
  const Card& mine() const { return mine_; }
  uint32_t rank() const { return config_.rank; }
  uint32_t size() const { return size_; }
  bool allows(std::string_view transport) const {
    return transportAllowed(config_.transports, transport);
  }
  bool allowsLocal() const { return allowsLocalLinks(config_.transports); }
  Result<const Card*> card(uint32_t peer);

  // From pairs (control thread) and from ranks of this process.
  void publish(uint32_t peer, std::vector<MadeLink>* links);
  void setReason(uint32_t peer, std::string reason);  // why there is no link yet
  void setHopeless(uint32_t peer, const Status& status);
  void peerFailed(uint32_t peer, const Status& status);
  void peerLeft(uint32_t peer);
  // A peer of this process has left. Its goodbye may still be on the way behind the last words of a
  // link's set-up, where there is a channel; else this is the only news of it.
  void siblingLeft(const LinksCore& sibling);
  void peerAborted(uint32_t peer, const Status& cause);
  bool isWanted(uint32_t peer) const;
  // Goes through sockets for what is wanted of the peer.
  void callPeer(uint32_t peer, LinkKind kind, Deadline deadline);
  void callWanted(uint32_t peer);

  // Control thread only. nullptr when the peer's card is broken or this object is closed.
  Pair* pair(uint32_t peer);
  bool hasChannel(uint32_t peer) const;

  static constexpr LinkKind kKinds[2] = {LinkKind::kCollective, LinkKind::kPointToPoint};

 private:
  struct Slot {
    std::array<uint32_t, 2> waiters{};  // by kind
    bool left = false;
    bool hasAnnounced = false;
    Announcement announcement;
    Status hopeless;       // no use in waiting for more links
    Status ended;          // the peer is gone or has left
    bool inOrder = false;  // it has left: links that exist are still of use
    std::string reason;
    std::vector<std::function<void()>> onLeft;
  };
  explicit LinksCore(const LinksConfig& config) : config_(config), heartbeat_(this) {}
  static size_t index(uint32_t peer, LinkKind kind) {
    return static_cast<size_t>(peer) * 2 + static_cast<size_t>(kind);
  }
  Status startPeer(uint32_t peer, LinkKind kind, Deadline deadline);
  bool isOver(uint32_t peer, bool hasLink) const;
  void setAborted(const Status& cause);
  Links::Failure failureCallback();
  std::vector<MessageLink*> messageLinks();
  bool end(uint32_t peer, const Status& status, bool inOrder);
  Status missing(const std::vector<uint32_t>& peers, LinkKind kind, double seconds);

  const LinksConfig config_;
  uint32_t size_ = 0;
  Card mine_;
  Digest id_{}, key_{};
  std::unique_ptr<std::atomic<Link*>[]> ready_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;                   // guarded
  std::vector<std::unique_ptr<Link>> links_;  // guarded
  std::map<uint32_t, Card> cards_;            // guarded; node-stable
  std::atomic<uint64_t> departures_{0};
  uint64_t cancels_ = 0;    // guarded
  Links::Failure failure_;  // guarded
  Status aborted_;          // guarded; the first cause

  std::map<uint32_t, std::unique_ptr<Pair>> pairs_;  // control thread only
  bool closed_ = false;                              // control thread only
  bool hasSpread_ = false;  // the first cause, to the peers; control thread only
  Heartbeat heartbeat_;
};

// All LinksCores of the process.
class Registry {
 public:
  static Registry& instance();

  Result<std::shared_ptr<LinksCore>> add(const LinksConfig& config);
  void remove(const std::shared_ptr<LinksCore>& core);
  std::shared_ptr<LinksCore> find(const Digest& communicator, uint32_t rank);
  // The other ranks of this process in the communicator of `core`.
  std::vector<std::shared_ptr<LinksCore>> siblings(const LinksCore& core);

  // Joins two ranks of this process when both are there and neither's HCCL_TRANSPORT is against it.
  // `later`: the peer is not there yet and will be joined when it comes. Otherwise, with an OK
  // status, sockets are needed.
  Status joinLocal(const std::shared_ptr<LinksCore>& core, uint32_t peer, bool* joined,
                   bool* later);

 private:
  using Key = std::pair<Digest, uint32_t>;
  // What the communicators whose cards carry the same lease have in common.
  struct Lease {
    size_t live = 0;
    std::map<Digest, uint64_t> generations;  // of equal names with equal cards
  };
  static constexpr size_t kRememberedLeases = 1024;  // without a live communicator
  void forgetOldLeases();
  Status joinLocked(LinksCore* core, LinksCore* peer);

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<LinksCore>> cores_;
  std::map<std::string, Lease> leases_;
  std::deque<std::string> idleLeases_;  // oldest first; may name live ones, too
};

}  // namespace hccl::transport
