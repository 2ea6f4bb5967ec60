// SetupWords: what the two ends of a set-up tell each other, a JSON text on the pair's channel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/ip_address.h"
#include "transport/rdma/queue_set.h"

namespace hccl::transport::rdma {

struct SetupWords {
  // Of a rail.
  struct End {
    IpAddress address;
    uint16_t port = 0;
    uint32_t key = 0;
    ibv_mtu mtu = IBV_MTU_256;
  };
  std::string kind;  // "offer", "answer", "ring"
  uint64_t token = 0, ring = 0;
  RingShape shape;
  bool flags = false;  // this end can do with flags instead of completions
  std::vector<End> rails;

  std::string text() const;
  // Nothing when it is no legal message.
  static std::optional<SetupWords> parse(const std::string& text);
};

}  // namespace hccl::transport::rdma
