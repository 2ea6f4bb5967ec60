// Network interfaces of this host and the choice of the one that HCCL's host traffic uses.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/ip_address.h"
#include "src/base/status.h"

namespace hccl {

struct Environment;

struct NetInterface {
  std::string name;
  std::vector<IpAddress> addresses;  // each carries `name` as its ifname
};

// Interfaces that are up and have an address, in dictionary order of names.
Result<std::vector<NetInterface>> listInterfaces();

// HCCL_SOCKET_IFNAME: [=|^|^=]name[,name...]
struct IfnameFilter {
  std::string text;  // as the user wrote it
  bool exclude = false;
  bool exact = false;
  std::vector<std::string> names;
  // nullopt: empty list, empty item, leading or trailing comma.
  static std::optional<IfnameFilter> parse(std::string_view text);
  bool accepts(std::string_view name) const;
};

enum class SocketFamily { kDefault, kInet, kInet6 };

struct HostNicRequest {
  std::optional<IpAddress> workerIp;  // CM_WORKER_IP
  std::optional<IpAddress> ifIp;      // HCCL_IF_IP
  std::optional<IfnameFilter> ifname;
  SocketFamily family = SocketFamily::kDefault;
};

struct HostNic {
  std::string name;
  IpAddress ip;                       // its ifname is `name`
  std::vector<std::string> runLines;  // what the selection tells the run log
};

// Pure: CM_WORKER_IP, HCCL_IF_IP, HCCL_SOCKET_IFNAME, other interfaces, docker*, lo*; the preferred
// family before the other one inside each step. Errors: EI0001 (an address or a name that this host
// does not have), HCCL_E_NOT_FOUND when there is no address at all.
Result<HostNic> selectHostNic(std::span<const NetInterface> interfaces,
                              const HostNicRequest& request);

HostNicRequest hostNicRequest(const Environment& environment);
// Lists, selects and writes the run-log lines.
Result<HostNic> hostNic(const Environment& environment);

}  // namespace hccl
