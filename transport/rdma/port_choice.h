// Which RDMA device, port and address (GID) a rank uses.
#pragma once

#include <string>
#include <vector>

#include "src/base/ip_address.h"
#include "src/base/status.h"
#include "transport/rdma/verbs_api.h"

namespace hccl::transport::rdma {

struct PortChoice {
  ibv_context* context = nullptr;
  uint8_t port = 1;
  uint32_t gidIndex = 0;
  IpAddress address;  // of the GID
  ibv_mtu mtu = IBV_MTU_1024;
  std::string device;
  bool exact = false;  // the GID is the rank's own address
};

// The address in a GID: IPv4 for mapped ones, else IPv6.
IpAddress addressOfGid(const ibv_gid& gid);
int mtuBytes(ibv_mtu mtu);

// The active port with a RoCEv2 GID equal to `wanted`; when no device has that address, an active
// one with a RoCEv2 GID that is not link-local, of the same family if possible, on the device
// nearest to this process' processors. The status says why there is none; HCCL_E_NETWORK when the
// port of `wanted` is down.
Result<PortChoice> choosePort(VerbsApi* verbs, const IpAddress& wanted);

// A port for each network card of a rank: the one of `wanted`, then those that have exactly one of
// the `more` addresses and are no port that was chosen before.
Result<std::vector<PortChoice>> choosePorts(VerbsApi* verbs, const IpAddress& wanted,
                                            const std::vector<IpAddress>& more);

// Whether the port still has the chosen GID and is active (after an event of the device).
Status checkPort(VerbsApi* verbs, const PortChoice& choice);

}  // namespace hccl::transport::rdma
