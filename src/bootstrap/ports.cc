#include "src/bootstrap/ports.h"

#include <fmt/core.h>

#include "src/base/env.h"
#include "src/base/log.h"
#include "src/base/socket.h"
#include "src/fault/ei_errors.h"

namespace hccl::bootstrap {

Result<PortChoice> rootPorts(const Environment& environment, uint32_t deviceId) {
  PortChoice choice;
  if (environment.hostPortRange) {
    if (environment.hostPortRange->automatic) return PortChoice{{0}, "auto"};
    for (const PortRange& range : environment.hostPortRange->ranges) {
      for (uint32_t port = range.first; port <= range.last; ++port) {
        choice.ports.push_back(static_cast<uint16_t>(port));
      }
      const std::string text = range.first == range.last
                                   ? std::to_string(range.first)
                                   : fmt::format("{}-{}", range.first, range.last);
      choice.text += choice.text.empty() ? text : "," + text;
    }
    return choice;
  }
  if (environment.ifBasePort) {
    const uint64_t port = uint64_t{*environment.ifBasePort} + deviceId;
    if (port > UINT16_MAX) {
      return invalidEnvironment(std::to_string(*environment.ifBasePort), "HCCL_IF_BASE_PORT",
                                fmt::format("a port that leaves room for device {}", deviceId));
    }
    return PortChoice{{static_cast<uint16_t>(port)}, std::to_string(port)};
  }
  for (int i = 0; i < kBasePortCount; ++i) {
    choice.ports.push_back(static_cast<uint16_t>(kDefaultBasePort + i));
  }
  choice.text = fmt::format("{}-{}", choice.ports.front(), choice.ports.back());
  return choice;
}

Result<Listener> listenOnFirst(const IpAddress& ip, const PortChoice& choice) {
  Status last(HCCL_E_UNAVAIL, "there is no port to try");
  for (const uint16_t port : choice.ports) {
    Result<UniqueFd> fd = listenTcp(ip, port);
    if (!fd) {
      last = fd.status();
      if (last.eiCode() != 0) return last;  // descriptors ran out: no port is to blame
      continue;
    }
    HCCL_ASSIGN_OR_RETURN(SocketAddress address, localAddress(fd->get()));
    address.ip.setIfname(ip.ifname());
    return Listener{std::move(*fd), std::move(address)};
  }
  HCCL_ERROR(
      "[InitGroupStage][RanktableDetect] socket type[2], listen on ip[{}] and specific "
      "port[{}] fail. Please check the port status and whether the port is being used by "
      "other process. ret[{}] ({})",
      ip.toStringWithIfname(), choice.text, static_cast<int>(HCCL_E_UNAVAIL), last.text());
  return eiError(Ei::kHostListen, HCCL_E_UNAVAIL,
                 {fmt::format("The IP address {} and port {} have already been bound.",
                              ip.toString(), choice.text)});
}

}  // namespace hccl::bootstrap
