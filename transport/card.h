// Card: what a rank tells all others about its process and its listeners (RankCard::endpoint,
// read).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/ip_address.h"
#include "src/base/status.h"

namespace hccl::transport {

// What the kernel says about this process.
struct ProcessIdentity {
  std::string process;  // random, made once; two processes never share it
  std::string boot;     // of the running kernel
  std::string network;  // network namespace: abstract unix sockets are seen inside it only
};
const ProcessIdentity& processIdentity();

struct Card {
  uint32_t wire = 0;  // protocol version
  std::string process, boot, network;
  std::string lease;     // of the localEndpoint() call: makes every text unique
  std::string unixName;  // abstract socket
  int32_t device = 0;
  SocketAddress tcp;
  std::vector<IpAddress> more;  // of further network cards of the rank
  std::string usable;           // transports that the rank may use and its host has: "shm,tcp"
  uint32_t processors = 1;      // of this process

  bool sameProcess(const Card& other) const { return process == other.process; }
  bool sameKernel(const Card& other) const { return boot == other.boot; }
  bool sameNetwork(const Card& other) const {
    return sameKernel(other) && network == other.network;
  }

  std::string toText() const;
  // HCCL_E_PARA when the text is no card.
  static Result<Card> parse(const std::string& text);
};

// EI0008 when the card comes from another version of the protocol.
Status checkVersion(const Card& card, uint32_t rank);
Status versionError(uint32_t remote, uint32_t rank);

}  // namespace hccl::transport
