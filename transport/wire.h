// What control threads say to each other: framed messages, fixed layouts, and the proofs by which
// two ranks convince each other that they hold the communicator's secret without sending it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace hccl::transport {

static_assert(std::endian::native == std::endian::little, "messages are little-endian");

inline constexpr uint32_t kWireMagic = 0x57434348;  // "HCCW"
inline constexpr uint16_t kWireVersion = 1;

enum class MessageType : uint16_t {
  kHello = 1,       // initiator: who I am, whom I want, nonce
  kChallenge = 2,   // acceptor: nonce and its proof
  kResponse = 3,    // initiator: its proof
  kReject = 4,      // either: why not; the connection ends
  kJoin = 5,        // a data connection of a link that is being set up
  kPoked = 6,       // acceptor of a poke: understood, I shall call you
  kWelcome = 7,     // acceptor: your proof is good
  kWant = 16,       // lower rank: please set up a link of this kind
  kTry = 17,        // higher rank: attempt a transport
  kSetup = 18,      // either: a transport's own words
  kRefuse = 19,     // either: this attempt has failed
  kCommit = 20,     // higher rank: my end is ready
  kReady = 21,      // lower rank: mine too, both ends use the link from now on
  kBye = 22,        // either: the communicator ends here in good order
  kAbort = 23,      // either: this rank's operations have failed, and why
  kHeartbeat = 24,  // either: a sign of life, or an event of the cluster
  kContact = 25,    // either: which operation this rank waits in
};

// This layout is the same in all versions, so that versions can be told apart.
struct MessageHeader {
  uint32_t magic = kWireMagic;
  uint16_t version = kWireVersion;
  uint16_t type = 0;
  uint32_t length = 0;  // of the body in bytes
};
static_assert(sizeof(MessageHeader) == 12);

// Bodies longer than this end the connection.
inline constexpr uint32_t kMaxStrangerBody = 256;
inline constexpr uint32_t kMaxMemberBody = 64 * 1024;

using Digest = std::array<uint8_t, 32>;

enum class Purpose : uint32_t { kChannel = 0, kPoke = 1 };

struct HelloBody {
  Digest communicator{};
  uint32_t source = 0;
  uint32_t destination = 0;
  Purpose purpose = Purpose::kChannel;
  uint32_t spare = 0;
  Digest nonce{};
};
static_assert(sizeof(HelloBody) == 80);

struct ChallengeBody {
  Digest nonce{};
  Digest proof{};
};

struct ResponseBody {
  Digest proof{};
};

struct JoinBody {
  Digest communicator{};
  uint32_t source = 0;
  uint32_t destination = 0;
  uint32_t attempt = 0;
  uint32_t index = 0;
  Digest proof{};
};

enum class RejectReason : uint32_t { kVersion = 1, kProof = 2, kUser = 3, kMalformed = 4 };
struct RejectBody {
  RejectReason reason = RejectReason::kMalformed;
  uint32_t version = kWireVersion;  // of who rejects
};

// Heads the bodies of kTry, kSetup, kRefuse, kCommit, kReady; a text may follow.
struct AttemptHead {
  uint32_t attempt = 0;
  uint32_t kind = 0;  // LinkKind
};

struct WantBody {
  uint32_t kind = 0;
};

// The cause of kAbort; its text follows.
struct AbortBody {
  int32_t code = 0;
  int32_t eiCode = 0;
  int32_t culprit = 0;
};
inline constexpr size_t kMaxAbortText = 4096;

// What happened to the rank `crimer`, as the rank `informer` saw it first (ClusterEvent).
struct HeartbeatBody {
  uint32_t crimer = 0;
  uint32_t informer = 0;
  uint32_t event = 0;
};

template <typename T>
std::string_view bytesOf(const T& body) {
  return {reinterpret_cast<const char*>(&body), sizeof body};
}
// False when `bytes` is shorter than T (or, unless `mayFollow`, longer).
template <typename T>
bool readBody(std::string_view bytes, T* body, bool mayFollow = false) {
  if (bytes.size() < sizeof *body || (!mayFollow && bytes.size() != sizeof *body)) return false;
  __builtin_memcpy(body, bytes.data(), sizeof *body);
  return true;
}

Digest randomDigest();
std::string randomHex(size_t bytes);
Digest sha256(std::string_view text);
Digest hmac(const Digest& key, std::string_view text);
// Takes the same time wherever they differ.
bool sameDigest(const Digest& a, const Digest& b);

// Proofs of one handshake. The role is part of what is signed: a proof cannot be sent back.
struct Handshake {
  Digest key;  // of the communicator: HMAC(secret, communicator id)
  HelloBody hello;
  Digest acceptorNonce{};

  Digest acceptorProof() const { return sign("acceptor"); }
  Digest initiatorProof() const { return sign("initiator"); }
  Digest sessionKey() const { return sign("session"); }

 private:
  Digest sign(std::string_view role) const;
};

// Proof of a data connection that belongs to an attempt of a session.
Digest joinProof(const Digest& sessionKey, const JoinBody& join);

}  // namespace hccl::transport
