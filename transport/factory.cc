// The one place that names the transports, in the order in which they are tried.
#include <array>

#include "src/base/env.h"
#include "src/base/log.h"
#include "transport/rdma/rdma_transport.h"
#include "transport/setup.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"

namespace hccl::transport {

std::span<const TransportClass* const> transportClasses() {
  static const std::array<const TransportClass*, 3> classes = {shmTransport(), rdmaTransport(),
                                                               tcpTransport()};
  return classes;
}

const TransportClass* findTransport(std::string_view name) {
  for (const auto* candidate : transportClasses()) {
    if (candidate->name() == name) return candidate;
  }
  return nullptr;
}

namespace {

bool isNamed(const std::string& list, std::string_view name) {
  if (list.empty()) return true;
  std::string_view rest = list;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (item == "auto" || item == name) return true;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return false;
}

}  // namespace

bool roceInsideServer(const std::string& list) {
  const auto env = environment();
  if (!env.isOk() || !(*env)->intraRoce || !isNamed(list, "rdma")) return false;
  static const bool possible = [] {
    const bool is = rdmaIsPossible();
    if (!is) HCCL_RUN_WARNING("HCCL_INTRA_ROCE_ENABLE=1 has no effect: there is no RDMA device");
    return is;
  }();
  return possible;
}

bool transportAllowed(const std::string& list, std::string_view name) {
  return isNamed(list, name) && (name != "shm" || !roceInsideServer(list));
}

Result<std::string> usableTransports() {
  HCCL_ASSIGN_OR_RETURN(const Environment* env, environment());
  const TransportSet& set = env->transports;
  std::string names;
  for (const auto& [allowed, name] : {std::pair(set.shm && !roceInsideServer(""), "shm"),
                                      {set.rdma && rdmaIsPossible(), "rdma"},
                                      {set.tcp, "tcp"}}) {
    if (allowed) names += (names.empty() ? "" : ",") + std::string(name);
  }
  return names;
}

bool wantsUnixChannel(const std::string& list) {
  return isNamed(list, "shm");
}

bool allowsLocalLinks(const std::string& list) {
  return transportAllowed(list, "shm");
}

}  // namespace hccl::transport
