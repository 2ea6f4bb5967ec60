#include "transport/rdma/greeting.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstring>

namespace hccl::transport::rdma {
namespace {

uint64_t shortHash(std::string_view text) {
  const Digest digest = sha256(text);
  uint64_t value;
  std::memcpy(&value, digest.data(), sizeof value);
  return value;
}

void fill(const PairFacts& facts, Greeting* greeting) {
  // The higher rank calls.
  const uint32_t caller = facts.initiator ? facts.rank : facts.peer;
  const uint32_t answerer = facts.initiator ? facts.peer : facts.rank;
  greeting->attempt = facts.attempt;
  greeting->communicator = shortHash(bytesOf(facts.communicatorId));
  greeting->ranks =
      shortHash(fmt::format("{} {} {}", caller, answerer, static_cast<int>(facts.kind)));
}

Digest proofOf(const PairFacts& facts, const Greeting& greeting) {
  const std::string_view said(reinterpret_cast<const char*>(&greeting), offsetof(Greeting, proof));
  return hmac(facts.sessionKey, "rdma" + std::string(said));
}

}  // namespace

std::string makeGreeting(const PairFacts& facts, uint64_t token, uint16_t queue) {
  Greeting greeting;
  greeting.token = token;
  greeting.queue = queue;
  fill(facts, &greeting);
  const Digest random = randomDigest();
  std::memcpy(&greeting.nonce, random.data(), sizeof greeting.nonce);
  const Digest proof = proofOf(facts, greeting);
  std::memcpy(greeting.proof, proof.data(), sizeof greeting.proof);
  return std::string(bytesOf(greeting));
}

std::string checkGreeting(const PairFacts& facts, uint64_t token, const std::string& data,
                          Greeting* greeting) {
  if (!readBody(data, greeting, true)) return "its greeting is too short";
  if (greeting->version != kGreetingVersion) return "it speaks another version";
  Greeting expected = *greeting;
  expected.token = token;
  fill(facts, &expected);
  if (std::memcmp(&expected, greeting, sizeof expected) != 0) return "it means another link";
  const Digest proof = proofOf(facts, *greeting);
  uint8_t different = 0;
  for (size_t i = 0; i < sizeof greeting->proof; ++i) different |= proof[i] ^ greeting->proof[i];
  return different == 0 ? "" : "its proof is wrong";
}

}  // namespace hccl::transport::rdma
