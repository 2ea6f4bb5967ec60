#include "transport/rdma/port_choice.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace hccl::transport::rdma {
namespace {

struct Candidate {
  PortChoice choice;
  bool sameFamily = false;
};

struct Search {
  VerbsApi* verbs;
  const IpAddress& wanted;
  std::vector<Candidate> candidates = {};
  std::string notes = {};     // why ports were passed over
  std::string downPort = {};  // the one that has the wanted address
  bool found = false;
  PortChoice exact = {};

  void note(const std::string& text) { notes += (notes.empty() ? "" : "; ") + text; }
  void lookAtPort(ibv_context* context, uint8_t port, const std::string& device,
                  const std::vector<ibv_gid_entry>& gids);
};

void Search::lookAtPort(ibv_context* context, uint8_t port, const std::string& device,
                        const std::vector<ibv_gid_entry>& gids) {
  ibv_port_attr attributes{};
  if (const int error = verbs->queryPort(context, port, &attributes); error != 0) {
    return note(
        fmt::format("{} port {} cannot be queried: {}", device, port, std::strerror(error)));
  }
  if (attributes.link_layer != IBV_LINK_LAYER_ETHERNET) {
    return note(fmt::format("{} port {} is not an Ethernet port", device, port));
  }
  const bool active = attributes.state == IBV_PORT_ACTIVE;
  bool usable = false;
  for (const ibv_gid_entry& entry : gids) {
    if (entry.port_num != port || entry.gid_type != IBV_GID_TYPE_ROCE_V2) continue;
    const IpAddress address = addressOfGid(entry.gid);
    if (address.isAny() || address.isLinkLocal()) continue;
    usable = true;
    const bool same = address == wanted;
    if (same && !active) downPort = fmt::format("{} port {}", device, port);
    if (!active) continue;
    Candidate candidate;
    candidate.choice = {context, port, entry.gid_index, address, attributes.active_mtu,
                        device,  same};
    candidate.sameFamily = address.family() == wanted.family();
    if (same && !found) {
      found = true;
      exact = candidate.choice;
    }
    candidates.push_back(std::move(candidate));
  }
  if (!usable) {
    note(fmt::format("{} port {} has no RoCE v2 address (GID) other than link-local ones", device,
                     port));
  } else if (!active) {
    note(fmt::format("{} port {} is down", device, port));
  }
}

// Of those of the wanted family, if there are any. The topology is read only where it decides.
PortChoice nearest(VerbsApi* verbs, const std::vector<Candidate>& candidates) {
  if (candidates.size() == 1) return candidates.front().choice;
  const auto rank = [&](const Candidate& candidate) {
    return std::make_pair(candidate.sameFamily, verbs->nearness(candidate.choice.context));
  };
  const auto best =
      std::max_element(candidates.begin(), candidates.end(),
                       [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return best->choice;
}

}  // namespace

IpAddress addressOfGid(const ibv_gid& gid) {
  static constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::memcmp(gid.raw, kMapped, sizeof kMapped) == 0) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    std::memcpy(&v4.sin_addr, gid.raw + 12, 4);
    return IpAddress::fromSockaddr(reinterpret_cast<const sockaddr*>(&v4)).value_or(IpAddress());
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  std::memcpy(&v6.sin6_addr, gid.raw, 16);
  return IpAddress::fromSockaddr(reinterpret_cast<const sockaddr*>(&v6)).value_or(IpAddress());
}

int mtuBytes(ibv_mtu mtu) {
  return 128 << static_cast<int>(mtu);
}

Result<PortChoice> choosePort(VerbsApi* verbs, const IpAddress& wanted) {
  if (!verbs->hasDevices()) return Status(HCCL_E_NOT_FOUND, "no RDMA device");
  const auto contexts = verbs->devices();
  if (contexts.empty()) {
    return Status(HCCL_E_NOT_FOUND,
                  fmt::format("no RDMA device can be opened ({}): are /dev/infiniband/uverbs* and "
                              "/dev/infiniband/rdma_cm there, and may this user open them?",
                              errno == 0 ? "none is there" : std::strerror(errno)));
  }
  Search search{verbs, wanted};
  for (ibv_context* context : contexts) {
    const std::string device = verbs->deviceName(context);
    ibv_device_attr attributes{};
    if (const int error = verbs->queryDevice(context, &attributes); error != 0) {
      search.note(fmt::format("{} cannot be queried: {}", device, std::strerror(error)));
      continue;
    }
    const auto gids = verbs->gidTable(context);
    for (uint8_t port = 1; port <= attributes.phys_port_cnt; ++port) {
      search.lookAtPort(context, port, device, gids);
    }
  }
  if (search.found) return search.exact;
  if (!search.downPort.empty()) {
    return Status(HCCL_E_NETWORK, fmt::format("the network port is down: {}, which has {}",
                                              search.downPort, wanted.toString()));
  }
  if (search.candidates.empty()) return Status(HCCL_E_NOT_FOUND, search.notes);
  return nearest(verbs, search.candidates);
}

Result<std::vector<PortChoice>> choosePorts(VerbsApi* verbs, const IpAddress& wanted,
                                            const std::vector<IpAddress>& more) {
  HCCL_ASSIGN_OR_RETURN(const PortChoice first, choosePort(verbs, wanted));
  std::vector<PortChoice> ports = {first};
  for (const IpAddress& address : more) {
    const auto choice = choosePort(verbs, address);
    if (!choice.isOk() || !choice->exact) continue;
    const bool known = std::any_of(ports.begin(), ports.end(), [&](const PortChoice& other) {
      return other.context == choice->context && other.port == choice->port;
    });
    if (!known) ports.push_back(*choice);
  }
  return ports;
}

Status checkPort(VerbsApi* verbs, const PortChoice& choice) {
  ibv_port_attr attributes{};
  if (const int error = verbs->queryPort(choice.context, choice.port, &attributes); error != 0) {
    return Status(HCCL_E_NETWORK, fmt::format("{} port {} cannot be queried: {}", choice.device,
                                              choice.port, std::strerror(error)));
  }
  if (attributes.state != IBV_PORT_ACTIVE) {
    return Status(HCCL_E_NETWORK,
                  fmt::format("the network port is down: {} port {}", choice.device, choice.port));
  }
  ibv_gid_entry entry{};
  if (verbs->queryGid(choice.context, choice.port, choice.gidIndex, &entry) != 0 ||
      !(addressOfGid(entry.gid) == choice.address)) {
    return Status(HCCL_E_NETWORK, fmt::format("{} port {} has lost the address {}", choice.device,
                                              choice.port, choice.address.toString()));
  }
  return Status();
}

}  // namespace hccl::transport::rdma
