// What the log says when links were not made in time: HCCL's LINK_ERROR_INFO table, the link that
// was wanted, and what this rank can tell about the reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace hccl::transport {

struct LinkErrorRow {
  uint32_t peer = 0;
  std::string peerAddress;  // "ip:port"
  std::string peerName;     // "ip/device"
  std::string reason;       // empty: the peer gave no answer at all
};

struct LinkErrorFacts {
  std::string communicator;
  uint32_t rank = 0;
  int32_t device = 0;
  std::string address;
  std::string name;
  double seconds = 0;
  std::vector<LinkErrorRow> rows;
};

// "connected", "time out", "connect failed", "no connect".
std::string linkStatusOf(const std::string& reason);
std::vector<std::string> linkErrorLines(const LinkErrorFacts& facts);
// The result block: whom this rank could not reach, or that all could be reached.
std::vector<std::string> detectionLines(const LinkErrorFacts& facts);
void logLinkErrors(const LinkErrorFacts& facts);

// How reasons begin when the peer answers but the link is not complete.
inline constexpr const char* kConnectedReason = "connected";

}  // namespace hccl::transport
