// The rendezvous of rank-table communicators (docs/ranktable.md, "Where the ranks meet").
#include <fmt/core.h>

#include <algorithm>

#include "src/base/env.h"
#include "src/base/interfaces.h"
#include "src/bootstrap/agent.h"
#include "src/bootstrap/ports.h"
#include "src/bootstrap/rendezvous.h"
#include "src/bootstrap/root_registry.h"
#include "src/fault/ei_errors.h"

namespace hccl {
namespace {

using bootstrap::Digest;

// How long ranks that come after a failure still learn its cause.
constexpr double kLingerSeconds = 5;
// An address of another host that a table of one server names may be a made-up one.
constexpr double kForeignAttemptSeconds = 0.5;
constexpr size_t kForeignPorts = 4;

Digest tableSecret(const Cluster& table) {
  return bootstrap::sha256(
      fmt::format("hccl rank table of {} ranks\n{}", table.size(), table.canonicalText()));
}

bootstrap::PortChoice tablePorts(const Cluster& table, const Environment& env) {
  const uint16_t own = table.ranks.front().hostPort;
  if (own != 0) return {{own}, std::to_string(own)};
  bootstrap::PortChoice choice;
  if (env.hostPortRange && !env.hostPortRange->automatic) {
    if (auto ports = bootstrap::rootPorts(env, 0)) choice = std::move(*ports);
  } else {
    const uint32_t base = env.ifBasePort.value_or(kDefaultBasePort);
    for (uint32_t i = 0; i < static_cast<uint32_t>(kBasePortCount); ++i) {
      if (base + i <= UINT16_MAX) choice.ports.push_back(static_cast<uint16_t>(base + i));
    }
    choice.text = fmt::format("{}-{}", base, choice.ports.back());
  }
  // Jobs with different tables start at different places, so that they rarely meet.
  const size_t first = table.crc() % choice.ports.size();
  std::rotate(choice.ports.begin(), choice.ports.begin() + static_cast<ptrdiff_t>(first),
              choice.ports.end());
  return choice;
}

Result<bool> isLocal(const IpAddress& ip) {
  if (ip.isLoopback()) return true;
  HCCL_ASSIGN_OR_RETURN(const auto interfaces, listInterfaces());
  for (const NetInterface& interface : interfaces) {
    const auto& all = interface.addresses;
    if (std::find(all.begin(), all.end(), ip) != all.end()) return true;
  }
  return false;
}

// Where rank 0 listens and where the others look for it.
struct MeetingPlace {
  IpAddress listenIp;
  std::vector<IpAddress> lookupIps;
  bool isForeign = false;
};

Result<MeetingPlace> meetingPlace(const Cluster& table) {
  const RankInfo& first = table.ranks.front();
  const bool oneServer = table.servers().size() == 1;
  const std::string text = first.address();
  const std::optional<IpAddress> ip = IpAddress::parse(text);
  const IpAddress loopback = IpAddress::loopback(AF_INET);
  if (!ip) {
    if (oneServer) return MeetingPlace{loopback, {loopback}, false};
    return eiError(Ei::kRankTableValue, HCCL_E_PARA,
                   {text, "host_ip", "an address of rank 0 that the other servers can reach"});
  }
  HCCL_ASSIGN_OR_RETURN(const bool local, isLocal(*ip));
  if (local || !oneServer) return MeetingPlace{*ip, {*ip}, false};
  return MeetingPlace{loopback, {loopback, *ip}, true};
}

Result<SocketAddress> startTableServer(const Cluster& table, const IpAddress& ip,
                                       const bootstrap::PortChoice& ports, Deadline deadline,
                                       const Environment& env, uint32_t version) {
  bootstrap::RootServerOptions server;
  if (!env.whitelistDisabled) {
    HCCL_ASSIGN_OR_RETURN(server.whitelist, loadWhitelist(env.whitelistFile));
  }
  auto& registry = bootstrap::RootRegistry::instance();
  registry.stopLingering(ip, ports.ports);
  HCCL_ASSIGN_OR_RETURN(bootstrap::Listener listener, bootstrap::listenOnFirst(ip, ports));
  const SocketAddress address = listener.address;
  server.listener = std::move(listener.fd);
  server.address = address;
  server.secret = tableSecret(table);
  server.version = version;
  server.timeoutSeconds = deadline.remainingSeconds();
  server.lingerSeconds = kLingerSeconds;
  HCCL_RETURN_IF_ERROR(registry.start(std::move(server)));
  return address;
}

// The table again, with endpoints; everything else must be what the table says.
Result<Cluster> withEndpoints(const Cluster& table, std::vector<RankInfo> ranks) {
  Cluster result{table.version, std::move(ranks)};
  if (result.canonicalText() != table.canonicalText()) {
    return eiError(Ei::kInconsistent, HCCL_E_PARA,
                   {"CommInit", "hccl_world_group", "ranktable", fmt::format("crc {}", table.crc()),
                    fmt::format("crc {}", result.crc())});
  }
  return result;
}

}  // namespace

Result<Cluster> joinByTable(const Cluster& table, uint32_t rank, const RankInfo& mine,
                            const std::string& agreed, Deadline deadline,
                            const JoinOptions& options) {
  if (rank >= table.size()) {
    return Status(HCCL_E_PARA, fmt::format("rank {} is not in a table of {}", rank, table.size()));
  }
  const Environment* env = options.environment;
  if (env == nullptr) {
    HCCL_ASSIGN_OR_RETURN(env, environment());
  }
  HCCL_ASSIGN_OR_RETURN(const MeetingPlace place, meetingPlace(table));
  const bootstrap::PortChoice ports = tablePorts(table, *env);
  bootstrap::RootTarget target;
  target.secret = tableSecret(table);
  target.version = options.version;
  target.localAddress = table.ranks[rank].address();
  if (rank == 0) {
    HCCL_ASSIGN_OR_RETURN(
        const SocketAddress address,
        startTableServer(table, place.listenIp, ports, deadline, *env, options.version));
    target.addresses = {address};
  } else {
    if (place.isForeign) target.attemptSeconds = kForeignAttemptSeconds;
    for (const IpAddress& ip : place.lookupIps) {
      const bool isFallback = place.isForeign && !ip.isLoopback();
      const size_t count =
          isFallback ? std::min(kForeignPorts, ports.ports.size()) : ports.ports.size();
      for (size_t i = 0; i < count; ++i) target.addresses.push_back({ip, ports.ports[i]});
    }
  }
  bootstrap::JoinRecord record;
  record.rankCount = table.size();
  record.rank = rank;
  record.ranks = {table.ranks[rank]};
  record.ranks.front().endpoint = mine.endpoint;
  record.agreed = agreed;
  record.group = options.group.empty() ? "hccl_world_group" : options.group;
  const Deadline last =
      deadline.isNever()
          ? deadline
          : Deadline::after(deadline.remainingSeconds() + options.verdictGraceSeconds);
  HCCL_ASSIGN_OR_RETURN(std::vector<RankInfo> ranks,
                        bootstrap::joinThrough(target, record, deadline, last));
  return withEndpoints(table, std::move(ranks));
}

}  // namespace hccl
