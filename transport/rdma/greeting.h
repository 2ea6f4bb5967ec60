// Greeting: the private data of a connection request, by which the answering end knows the link,
// and that the caller belongs to it.
#pragma once

#include <cstdint>
#include <string>

#include "transport/setup.h"

namespace hccl::transport::rdma {

inline constexpr uint16_t kGreetingVersion = 2;

struct Greeting {
  uint64_t token = 0;  // chosen by the answering end for this attempt
  uint16_t version = kGreetingVersion;
  uint16_t queue = 0;
  uint32_t attempt = 0;
  uint64_t communicator = 0;  // hashes
  uint64_t ranks = 0;
  uint64_t nonce = 0;
  uint8_t proof[16] = {};  // HMAC of all before, by the key that only the two ends hold
};
static_assert(sizeof(Greeting) == 56, "rdma_cm carries no more");

std::string makeGreeting(const PairFacts& facts, uint64_t token, uint16_t queue);
// "" when the greeting is the caller's of this attempt, else why it is not.
std::string checkGreeting(const PairFacts& facts, uint64_t token, const std::string& data,
                          Greeting* greeting);

}  // namespace hccl::transport::rdma
