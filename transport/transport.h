// The one interface of all transports. A link joins two ranks of a communicator; its class, agreed
// by both ends at set-up, decides how plans are lowered onto it:
//  - direct: both ends map each other's arenas; a peer's buffer is an address, order is kept by
//  signal lines;
//  - message: frames in order, each a header and a payload that lands where the receiver says.
// No transport's name appears outside transport/.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/base/status.h"

namespace hccl::transport {

enum class LinkClass : uint8_t { kSelf, kDirect, kMessage };
// Collectives and point-to-point transfers of a pair never wait for each other.
enum class LinkKind : uint8_t { kCollective, kPointToPoint };

// ---- direct links -------------------------------------------------------------------------------

// Monotonic counter with one writer on a cache line of its own. Data written before publish() is
// visible to whoever sees the value.
struct alignas(64) SignalLine {
  std::atomic<uint64_t> value{0};
};

// First contact of a directed pair in an operation. `ordinal` (the pair's operation number, from 1)
// is written last. Two slots, used in turn, suffice: see docs/architecture.md.
struct alignas(64) EntryLine {
  std::atomic<uint64_t> ordinal{0};
  uint64_t sequence = 0;   // of the communicator's operations
  uint64_t signature = 0;  // plan::Signature, packed
  uint64_t count = 0;      // elements, as the caller gave them (per pair for V operations)
  uint64_t input = 0;      // BufferRef of the writer's input window
  uint64_t output = 0;     // and of its output window
  uint64_t scratch = 0;    // and of its scratch
  uint64_t slotBytes = 0;  // of the writer's staging
};

// A place in the writer's memory that the reader can reach: an offset in the writer's arena, or
// (ranks of one process) a plain address.
struct BufferRef {
  static constexpr uint64_t kAddressBit = 1ULL << 63;
  // Plain memory of another process, an address there: DirectLink::read reaches it.
  static constexpr uint64_t kPlainBit = 1ULL << 59;
  static uint64_t plain(const void* p) { return reinterpret_cast<uint64_t>(p) | kPlainBit; }
  static uint64_t offset(uint64_t o) { return o; }
  static uint64_t address(const void* p) { return reinterpret_cast<uint64_t>(p) | kAddressBit; }
};

// Everything that rank r tells rank q through memory. Lives in r's arena, written by r only.
struct PairBoard {
  static constexpr size_t kInlineBytes = 512;
  EntryLine entry[2];                              // collectives
  alignas(64) std::byte inlined[2][kInlineBytes];  // of each entry: a small input itself
  SignalLine open;         // r exposes buffers to q: may be read and written now
  SignalLine close;        // r has finished with what q exposed
  EntryLine sendEntry[2];  // point to point, r sends to q
  SignalLine sendOpen;
  SignalLine recvClose;   // point to point, r receives from q: r has finished with q's buffer
  SignalLine readsPlain;  // 1: r can read plain memory of q's process
};

class DirectLink {
 public:
  virtual ~DirectLink() = default;
  PairBoard* mine = nullptr;          // what this rank tells the peer
  const PairBoard* theirs = nullptr;  // what the peer tells this rank
  bool sameProcess = false;           // BufferRef::address is allowed
  uint64_t leastPlainBytes = 0;       // of plain memory that is read instead of staged; 0: none

  // The peer may be told to read `bytes` bytes of plain memory of this process.
  bool readsPlain(uint64_t bytes) const noexcept {
    return leastPlainBytes != 0 && bytes >= leastPlainBytes &&
           theirs->readsPlain.value.load(std::memory_order_acquire) != 0;
  }
  // Copies `bytes` bytes at `address` of the peer's process. 0, or an errno: ESRCH when that
  // process has ended, ENOTSUP when this link cannot read.
  virtual int read(void* to, uint64_t address, size_t bytes) noexcept {
    (void)to, (void)address, (void)bytes;
    return ENOTSUP;
  }

  // The address in this process of [ref, ref + bytes) of the peer's memory; pages are populated on
  // first use. nullptr when the range is outside of the peer's arena (a broken peer).
  virtual std::byte* resolve(uint64_t ref, size_t bytes) noexcept = 0;

  // Call after publishing signals: wakes the peer's process when it sleeps.
  virtual void ring() noexcept = 0;
};

// ---- message links ------------------------------------------------------------------------------

struct FrameHeader {
  static constexpr uint32_t kMagic = 0x4843434c;
  uint32_t magic = kMagic;
  uint32_t epoch = 0;
  uint64_t sequence = 0;  // of the communicator's operations (or of the pair's transfers)
  uint64_t signature = 0;
  uint64_t count = 0;
  uint32_t step = 0;  // number of this frame among those of the operation between the pair
  uint32_t spare = 0;
  uint64_t bytes = 0;  // payload
};
static_assert(sizeof(FrameHeader) == 48);

enum class Io { kIdle, kProgress, kDone, kMismatch, kFailed };

// One frame under way; resumable. The payload must stay valid until kDone.
struct SendState {
  FrameHeader header;
  const std::byte* data = nullptr;
  size_t sent = 0;  // header and payload bytes together; the link's own
};
struct ReceiveState {
  FrameHeader expected;  // compared before a byte of the payload lands
  std::byte* data = nullptr;
  size_t received = 0;
  FrameHeader got;  // valid once received >= sizeof(FrameHeader)
};

class MessageLink {
 public:
  virtual ~MessageLink() = default;
  // Frames go out in the order of the calls; a new one may start only when the one before is kDone.
  virtual Io send(SendState& state) noexcept = 0;
  // kMismatch: the frame that came is not the expected one (see state.got); the link is not used
  // again.
  virtual Io receive(ReceiveState& state) noexcept = 0;
  // The header of the frame that comes next, if it is there, without taking it; not while a frame
  // is being received.
  virtual bool peek(FrameHeader& header) noexcept {
    (void)header;
    return false;
  }
  // Why send or receive returned kFailed: code, EI code, peer and address.
  virtual Status failure() const = 0;
  // Payload bytes sent and received since set-up.
  virtual uint64_t bytesSent() const = 0;
  virtual uint64_t bytesReceived() const = 0;
  // Waits (not on the control thread) until what was sent does not need this process any more.
  virtual void flush(Deadline deadline) noexcept { (void)deadline; }
  // The communicator's operations have failed: from now on the link neither reads nor writes the
  // memory of a frame under way.
  virtual void abandon() noexcept {}
};

// ---- set-up -------------------------------------------------------------------------------------

// What every rank tells all others at initialisation. The transports fill in `endpoint`
// (process and kernel identity, addresses, ports), a JSON text that only they read.
struct RankCard {
  uint32_t rank = 0;
  std::string endpoint;
};

struct Link {
  uint32_t peer = 0;
  LinkClass linkClass = LinkClass::kMessage;
  std::unique_ptr<DirectLink> direct;    // set for kDirect
  std::unique_ptr<MessageLink> message;  // set for kMessage
  std::string description;               // for log lines: transport, addresses, why it was chosen
};

// A rank's part in the heartbeat of its communicator.
struct HeartbeatConfig {
  uint32_t periodMs = 0;  // 0: no heartbeat
  uint32_t lostMs = 30000;
  uint32_t stuckMs = 0;              // 0: nobody looks for operations that do not get on
  std::vector<uint32_t> neighbours;  // ranks that exchange signs of life with this one
  std::vector<std::string> names;    // of all ranks, as logs show them: "ip/device"
  // All ranks exist by now: silence counts from the beginning, not from the first sign of life.
  bool fromStart = false;
  // Operations of this rank that have begun and ended, to see whether they get on. Control thread.
  std::function<std::pair<uint64_t, uint64_t>()> progress;
};

// Which operation a rank waits in, as its first contacts say it.
struct Announcement {
  uint64_t sequence = 0;
  uint64_t signature = 0;
  uint64_t count = 0;
};

struct LinksConfig {
  std::string communicator;  // unique name, equal on all ranks
  std::string secret;        // never sent; proves membership by challenge and response
  uint32_t rank = 0;
  int32_t device = 0;
  std::vector<RankCard> cards;  // of all ranks, by rank (members only, in a sub-communicator)
  std::string transports;       // HCCL_TRANSPORT
  double connectTimeout = 120;  // seconds
  HeartbeatConfig heartbeat;
};

// The links of one rank in one communicator, made on demand. Thread safe.
class Links {
 public:
  virtual ~Links() = default;

  // Makes the links to all `peers` that do not exist yet, both ends in any order, and returns when
  // all are ready or at the deadline. EI0006 names the peers that did not answer. The peer's user
  // thread need not be inside the library.
  virtual Status connect(const std::vector<uint32_t>& peers, LinkKind kind, Deadline deadline) = 0;

  // The link when it is ready, else nullptr. Lives as long as this object.
  virtual Link* find(uint32_t peer, LinkKind kind) noexcept = 0;

  // Makes connect() calls in progress return HCCL_E_UNAVAIL ("Terminating operation due to external
  // request").
  virtual void cancel() = 0;

  // Called (from the control thread) when a peer is known to be gone or its link to be broken. The
  // callback must neither block nor destroy this object.
  using Failure = std::function<void(uint32_t peer, const Status&)>;
  virtual void onFailure(Failure callback) = 0;

  // True once the peer has destroyed its Links in good order. That is no failure: what it signalled
  // or sent before is still there, but nothing more will come.
  virtual bool hasLeft(uint32_t peer) const = 0;

  // Tells the connected peers, and through their failure callbacks all others, why this rank's
  // operations have failed. Returns at once; the control thread does it.
  virtual void abort(const Status& cause) = 0;

  // What the heartbeat knows about ranks at fault, as the lines that HCCL's logs have; at most 3.
  virtual std::vector<std::string> exceptionLocations() const = 0;
  // How many peers have left so far: cheap enough to look at in every wait.
  virtual uint64_t departures() const = 0;

  // Tells the connected peers in which operation this rank waits, and what a peer has last told.
  // For long waits: ranks that wait for each other over message links say nothing otherwise.
  virtual void announce(const Announcement& own) = 0;
  virtual bool announced(uint32_t peer, Announcement& theirs) const = 0;
};

// This process' endpoint text for a rank on `device` (starts the listeners on first use).
// `hostAddress`: where peers of other hosts reach it; after commas those of more network cards;
// `port` 0 = by HCCL_*_SOCKET_PORT_RANGE, else any free one.
Result<std::string> localEndpoint(int32_t device, const std::string& hostAddress, uint16_t port);

// What a rank's endpoint says about its host: the same to everybody who holds the text.
struct HostFacts {
  std::string kernel;                   // ranks with equal ones may share memory
  std::vector<std::string> transports;  // that the rank may use, as in HCCL_TRANSPORT
  uint32_t processors = 1;              // of the rank's process
};
Result<HostFacts> hostFactsOf(const std::string& endpoint);

// Registers the communicator's rank with the control thread, so that peers can connect from now on.
Result<std::unique_ptr<Links>> makeLinks(const LinksConfig& config);

}  // namespace hccl::transport
