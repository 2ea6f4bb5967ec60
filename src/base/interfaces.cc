#include "src/base/interfaces.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#include "src/base/env.h"
#include "src/base/log.h"

namespace hccl {
namespace {

enum class NicClass { kNormal, kDocker, kLoopback };
constexpr NicClass kNicClasses[] = {NicClass::kNormal, NicClass::kDocker, NicClass::kLoopback};

NicClass nicClass(std::string_view name) {
  if (name.starts_with("lo")) return NicClass::kLoopback;
  return name.starts_with("docker") ? NicClass::kDocker : NicClass::kNormal;
}

std::string_view className(NicClass kind) {
  if (kind == NicClass::kNormal) return "normal";
  return kind == NicClass::kDocker ? "docker" : "lo";
}

struct Candidate {
  const NetInterface* nic = nullptr;
  const IpAddress* ip = nullptr;
};

// The first address of the family in dictionary order; an IPv6 link-local one only when there is no
// other.
Candidate firstOfFamily(const std::vector<const NetInterface*>& nics, int family) {
  for (const bool linkLocal : {false, true}) {
    for (const NetInterface* nic : nics) {
      for (const IpAddress& ip : nic->addresses) {
        if (ip.family() == family && (ip.isV6() && ip.isLinkLocal()) == linkLocal) {
          return {nic, &ip};
        }
      }
    }
  }
  return {};
}

HostNic chosen(const Candidate& candidate, std::vector<std::string> lines) {
  HostNic result{candidate.nic->name, *candidate.ip, std::move(lines)};
  result.ip.setIfname(candidate.nic->name);
  return result;
}

Result<HostNic> byAddress(std::span<const NetInterface> interfaces, const IpAddress& wanted,
                          std::string_view variable) {
  for (const NetInterface& nic : interfaces) {
    if (!wanted.ifname().empty() && wanted.ifname() != nic.name) continue;
    for (const IpAddress& ip : nic.addresses) {
      if (ip == wanted) {
        return chosen({&nic, &ip},
                      {fmt::format("get host ip success by if IP of [IF IP]. name[{}] ip[{}]",
                                   nic.name, ip.toString())});
      }
    }
  }
  return invalidEnvironment(wanted.toStringWithIfname(), variable,
                            "an ip address that exists in the local network interfaces list");
}

// What the log shows when HCCL_SOCKET_IFNAME names nothing that is here.
void logMissingIfname(std::span<const NetInterface> interfaces, const IfnameFilter& filter) {
  HCCL_ERROR(
      "[InitGroupStage][EnvConfig]set ifname to [{}] by HCCL_SOCKET_IFNAME, but not found in the "
      "environment, ifnames in the environment is as follows",
      filter.text);
  for (const NetInterface& nic : interfaces) {
    for (const IpAddress& ip : nic.addresses) {
      HCCL_ERROR("[InitGroupStage][EnvConfig]name[{}] ip[{}]", nic.name, ip.toString());
    }
  }
}

}  // namespace

Result<std::vector<NetInterface>> listInterfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return Status(HCCL_E_SYSCALL, fmt::format("getifaddrs: {}", std::strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, freeifaddrs);
  std::map<std::string, NetInterface> byName;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0) continue;
    auto ip = IpAddress::fromSockaddr(entry->ifa_addr);
    if (!ip) continue;
    ip->setIfname(entry->ifa_name);
    NetInterface& nic = byName[entry->ifa_name];
    nic.name = entry->ifa_name;
    nic.addresses.push_back(std::move(*ip));
  }
  std::vector<NetInterface> interfaces;
  interfaces.reserve(byName.size());
  for (auto& [name, nic] : byName) interfaces.push_back(std::move(nic));
  return interfaces;
}

std::optional<IfnameFilter> IfnameFilter::parse(std::string_view text) {
  IfnameFilter filter;
  filter.text = text;
  if (text.starts_with('^')) {
    filter.exclude = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('=')) {
    filter.exact = true;
    text.remove_prefix(1);
  }
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    if (name.empty() || name.find_first_of("=^ \t") != std::string_view::npos) return std::nullopt;
    filter.names.emplace_back(name);
    if (comma == std::string_view::npos) return filter;
    text.remove_prefix(comma + 1);
  }
}

bool IfnameFilter::accepts(std::string_view name) const {
  const bool listed = std::any_of(names.begin(), names.end(), [&](const std::string& item) {
    return exact ? name == item : name.starts_with(item);
  });
  return listed != exclude;
}

Result<HostNic> selectHostNic(std::span<const NetInterface> interfaces,
                              const HostNicRequest& request) {
  if (request.workerIp) return byAddress(interfaces, *request.workerIp, "CM_WORKER_IP");
  if (request.ifIp) return byAddress(interfaces, *request.ifIp, "HCCL_IF_IP");

  const bool preferV6 = request.family == SocketFamily::kInet6;
  for (const NicClass kind : kNicClasses) {
    std::vector<const NetInterface*> nics;
    for (const NetInterface& nic : interfaces) {
      if (nicClass(nic.name) != kind) continue;
      if (request.ifname && !request.ifname->accepts(nic.name)) continue;
      nics.push_back(&nic);
    }
    std::sort(nics.begin(), nics.end(), [](auto* a, auto* b) { return a->name < b->name; });
    Candidate found = firstOfFamily(nics, preferV6 ? AF_INET6 : AF_INET);
    if (found.nic == nullptr) found = firstOfFamily(nics, preferV6 ? AF_INET : AF_INET6);
    if (found.nic == nullptr) continue;
    return chosen(found, {fmt::format("nic class[{}]: find nic[{}] success.", className(kind),
                                      found.nic->name),
                          fmt::format("get host ip success. name[{}] ip[{}]", found.nic->name,
                                      found.ip->toString())});
  }
  if (request.ifname) {
    return invalidEnvironment(
        request.ifname->text, "HCCL_SOCKET_IFNAME",
        "a valid network interface name (e.g., eth0, bound0) present on this host",
        HCCL_E_NOT_FOUND);
  }
  return Status(HCCL_E_NOT_FOUND, "this host has no network interface with an address");
}

HostNicRequest hostNicRequest(const Environment& environment) {
  return {environment.cm.workerIp, environment.ifIp, environment.socketIfname,
          environment.socketFamily};
}

Result<HostNic> hostNic(const Environment& environment) {
  HCCL_ASSIGN_OR_RETURN(const std::vector<NetInterface> interfaces, listInterfaces());
  const HostNicRequest request = hostNicRequest(environment);
  auto nic = selectHostNic(interfaces, request);
  if (nic) {
    for (const std::string& line : nic->runLines) HCCL_RUN_INFO("{}", line);
  } else if (request.ifname && nic.status().code() == HCCL_E_NOT_FOUND) {
    logMissingIfname(interfaces, *request.ifname);
  }
  return nic;
}

}  // namespace hccl
