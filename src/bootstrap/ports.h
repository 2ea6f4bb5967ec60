// Which port the root listens on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/fd.h"
#include "src/base/ip_address.h"
#include "src/base/status.h"

namespace hccl {
struct Environment;
}

namespace hccl::bootstrap {

// Ports in the order in which they are tried; 0 lets the kernel choose.
struct PortChoice {
  std::vector<uint16_t> ports;
  std::string text;  // for messages: "60000", "60000-60031"
};

// HCCL_HOST_SOCKET_PORT_RANGE, else HCCL_IF_BASE_PORT + physical device id, else 60000..60031.
Result<PortChoice> rootPorts(const Environment& environment, uint32_t deviceId);

struct Listener {
  UniqueFd fd;
  SocketAddress address;
};
// The first of the ports that is free. Errors: EI0019 with HCCL_E_UNAVAIL, logged.
Result<Listener> listenOnFirst(const IpAddress& ip, const PortChoice& choice);

}  // namespace hccl::bootstrap
