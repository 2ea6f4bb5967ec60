// What travels on a rendezvous connection.
//
//   agent  -> server  hello  {"HCCLBOOT", version, nonce}              48 bytes
//   server -> agent   hello  {"HCCLBOOT", version, nonce} + proof      80 bytes
//   agent  -> server  proof                                            32 bytes
//   then frames       {type, length, code} + body                      40 bytes + length
//
// The server's first frame is kWelcome. An agent that loses the connection before it tries again;
// one that loses it afterwards knows that the root is gone. A proof is HMAC(secret, role + both
// hellos): each side shows that it knows the secret, for this connection only, before it says
// anything else. Each frame carries a code made with a key of this connection, its direction and
// its number. Both hellos keep their form in every version; a difference of versions is found after
// the proofs, so that no stranger can pretend one. Integers are big-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/bootstrap/digest.h"

namespace hccl::bootstrap {

inline constexpr size_t kHelloBytes = 48;
inline constexpr size_t kProofBytes = 32;
inline constexpr size_t kFrameHeaderBytes = 40;
inline constexpr size_t kMaxFrameBytes = 100u << 20;

struct Hello {
  uint32_t version = 0;
  Digest nonce{};
};
std::string encodeHello(const Hello& hello);
// nullopt when the bytes are no hello.
std::optional<Hello> decodeHello(std::string_view bytes);

enum class FrameType : uint32_t {
  kJoin = 1,     // agent: JoinRecord
  kVerdict = 2,  // server: Verdict
  kMerge = 3,    // server to the leader of its group: RankList to carry to the first root
  kMerged = 4,   // leader: Verdict of the first root
  kWelcome = 5,  // server, empty: the agent's proof was right
};

struct FrameHeader {
  FrameType type{};
  uint32_t length = 0;
  Digest code{};
};

// The keys of one connection.
class Session {
 public:
  Session() = default;
  Session(const Digest& secret, std::string_view agentHello, std::string_view serverHello);

  const Digest& serverProof() const { return serverProof_; }
  const Digest& agentProof() const { return agentProof_; }

  // Header of the next frame to send; `digest` is the SHA-256 of the body.
  std::string sealFrame(bool fromServer, FrameType type, size_t length, const Digest& digest);
  // nullopt when the type or the length is not allowed.
  static std::optional<FrameHeader> parseHeader(std::string_view bytes);
  // Whether this is the next frame of the other side, unchanged.
  bool openFrame(bool fromServer, const FrameHeader& header, std::string_view body);

 private:
  Digest frameCode(bool fromServer, uint64_t number, FrameType type, size_t length,
                   const Digest& digest) const;

  Digest serverProof_{}, agentProof_{}, frameKey_{};
  uint64_t sent_ = 0, received_ = 0;
};

}  // namespace hccl::bootstrap
