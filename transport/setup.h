// The seam between set-up and the transports. A transport is one TransportClass in the list of
// transportClasses(); the higher rank of a pair tries those that HCCL_TRANSPORT allows in the order
// of the list, and both ends fall back together. A set-up runs on the control thread and never
// blocks.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/fd.h"
#include "src/base/status.h"
#include "transport/card.h"
#include "transport/control_thread.h"
#include "transport/transport.h"
#include "transport/wire.h"

namespace hccl::transport {

// What both ends of a pair know before a transport is tried.
struct PairFacts {
  std::string communicator;
  Digest communicatorId{};
  uint32_t rank = 0, peer = 0;
  int32_t device = 0;
  Card mine, theirs;
  LinkKind kind = LinkKind::kCollective;
  uint32_t attempt = 0;
  bool initiator = false;    // the higher rank
  bool unixChannel = false;  // the channel passes descriptors, and its peer's user was checked
  std::string noUnixReason;  // why not, when the cards promised one
  int32_t peerProcess = 0;   // its process here, as the kernel knows it; 0: unknown
  Digest sessionKey{};       // known to the two ends only
  std::string transports;    // HCCL_TRANSPORT
};

// A link that a set-up made. `keep` lives until both ends have said goodbye.
struct MadeLink {
  LinkKind kind = LinkKind::kCollective;
  std::unique_ptr<Link> link;
  std::shared_ptr<void> keep;
  std::function<void()> onPeerLeft;  // the peer said goodbye; may be empty
};

// What a set-up in progress may ask for.
class SetupHost {
 public:
  virtual ~SetupHost() = default;
  virtual ControlThread* thread() = 0;
  virtual const PairFacts& facts() const = 0;
  // To the other end's LinkSetup::onMessage. Descriptors only when facts().unixChannel.
  virtual void send(std::string_view text, std::span<const int> fds = {}) = 0;
  // This end is complete; the links are published when the other end is, too.
  virtual void finish(std::vector<MadeLink> links) = 0;
  // This transport cannot join the pair; both ends go on with the next one. The set-up is destroyed
  // after the current call.
  virtual void fail(std::string reason) = 0;
  // By this a link tells later, on the control thread, that it is broken. May outlive everything.
  virtual std::function<void(const Status&)> failureReporter() = 0;
};

class LinkSetup {
 public:
  virtual ~LinkSetup() = default;
  virtual void begin() = 0;  // higher rank only: speak first
  // The attempt is over; the host may not be called any more. Destruction follows.
  virtual void abandon() {}
  virtual void onMessage(std::string text, std::vector<UniqueFd> fds) = 0;
  // Lower rank only: a data connection that proved to belong to this attempt.
  virtual void onData(uint32_t index, UniqueFd fd) {
    (void)index;
    (void)fd;
  }
};

class TransportClass {
 public:
  virtual ~TransportClass() = default;
  virtual std::string_view name() const = 0;  // as in HCCL_TRANSPORT
  // Empty when the pair may be joined by it as far as this end can tell, else the reason.
  virtual std::string probe(const PairFacts& facts) const = 0;
  virtual std::unique_ptr<LinkSetup> start(SetupHost* host) const = 0;
  // Its absence inside one kernel is worth a log line.
  virtual bool expectedInsideKernel() const { return false; }
};

// Those that HCCL_TRANSPORT allows and that this host has, with commas between.
Result<std::string> usableTransports();

// In order of preference.
std::span<const TransportClass* const> transportClasses();
const TransportClass* findTransport(std::string_view name);

// HCCL_TRANSPORT.
bool transportAllowed(const std::string& list, std::string_view name);
// Some transport in the list wants descriptors to be passed: channels inside a kernel are unix
// sockets.
bool wantsUnixChannel(const std::string& list);
// HCCL_INTRA_ROCE_ENABLE=1, an RDMA device, and the list does not speak against it: RDMA joins
// ranks of one server, too, and shared memory does not.
bool roceInsideServer(const std::string& list);
// Ranks of one process may be joined without any socket.
bool allowsLocalLinks(const std::string& list);

// Between ranks of one process: no socket is involved. Both directions at once.
struct LocalEnd {
  uint32_t rank = 0;
  int32_t device = 0;
};
Status makeLocalLinks(const LocalEnd& a, const LocalEnd& b, std::vector<MadeLink>* ofA,
                      std::vector<MadeLink>* ofB);

}  // namespace hccl::transport
