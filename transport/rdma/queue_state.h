// Moving queue pairs through their states: what the connection manager knows, and over it what the
// user's settings say.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/ip_address.h"
#include "src/base/status.h"
#include "transport/rdma/verbs_api.h"

namespace hccl::transport::rdma {

// HCCL_RDMA_*.
struct QueueSettings {
  uint8_t trafficClass = 132;
  uint8_t serviceLevel = 4;
  uint8_t timeout = 20;
  uint8_t retryCount = 7;
  uint32_t flowLabel = 0;      // 0: the kernel chooses the UDP source port
  ibv_mtu mtu = IBV_MTU_4096;  // the smaller one of both ports
};

// Receivers have a receive entry for whatever may come, so this never counts down. Below 7, which
// means "for ever".
inline constexpr uint8_t kRnrRetry = 6;

// The flow label whose mapping in the kernel yields this UDP source port. HCCL_E_PARA with EI0001
// when no label does (ports below 49152).
Result<uint32_t> flowLabelOfPort(uint16_t port);

// The longest time until the loss of the peer is an error, in seconds.
double retrySeconds(const QueueSettings& settings);

// INIT, RTR or RTS. EI0007 names the step that failed.
Status moveQueuePair(VerbsApi* verbs, rdma_cm_id* id, ibv_qp* qp, ibv_qp_state state,
                     const QueueSettings& settings);

}  // namespace hccl::transport::rdma
