// Farewell: what outlives a Links object until the peer has said goodbye, too: the channel, and the
// boards from which the peer may still read the last signals.
#pragma once

#include <memory>
#include <vector>

#include "transport/connection.h"

namespace hccl::transport {

class Farewell {
 public:
  // Control thread only.
  static void begin(ControlThread* thread, const std::shared_ptr<Connection>& channel,
                    std::vector<std::shared_ptr<void>> keep);
  // Farewells under way (for tests). Control thread only.
  static size_t count();
};

}  // namespace hccl::transport
