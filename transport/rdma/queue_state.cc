#include "transport/rdma/queue_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hccl::transport::rdma {
namespace {

constexpr uint16_t kFirstPort = 0xc000;
constexpr uint8_t kMinRnrTimer = 12;  // 0.64 ms

const char* nameOf(ibv_qp_state state) {
  switch (state) {
    case IBV_QPS_INIT:
      return "INIT";
    case IBV_QPS_RTR:
      return "RTR";
    case IBV_QPS_RTS:
      return "RTS";
    default:
      return "another state";
  }
}

}  // namespace

Result<uint32_t> flowLabelOfPort(uint16_t port) {
  if (port < kFirstPort) {
    return Status(HCCL_E_PARA,
                  fmt::format("Value [{}] for environment variable [HCCL_RDMA_QP_PORT_CONFIG_PATH] "
                              "is invalid. Expected value: [UDP source ports 49152 to 65535, which "
                              "are those that RoCE v2 uses].",
                              port),
                  1);
  }
  // The kernel folds the upper 6 bits of the label onto the lower 14; label 0 means "none".
  const uint32_t low = port & 0x3fff;
  return low != 0 ? low : (1U << 14) | 1;
}

double retrySeconds(const QueueSettings& settings) {
  return 4.096e-6 * static_cast<double>(1ULL << settings.timeout) * (settings.retryCount + 1);
}

Status moveQueuePair(VerbsApi* verbs, rdma_cm_id* id, ibv_qp* qp, ibv_qp_state state,
                     const QueueSettings& settings) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  int mask = 0;
  if (verbs->initQpAttributes(id, &attributes, &mask) != 0) {
    return Status(HCCL_E_ROCE_CONNECT,
                  fmt::format("rdma_init_qp_attr for {}: {}", nameOf(state), std::strerror(errno)));
  }
  switch (state) {
    case IBV_QPS_INIT:
      attributes.qp_access_flags |= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
      mask |= IBV_QP_ACCESS_FLAGS;
      break;
    case IBV_QPS_RTR:
      attributes.path_mtu = std::min(attributes.path_mtu, settings.mtu);
      attributes.min_rnr_timer = kMinRnrTimer;
      attributes.ah_attr.sl = settings.serviceLevel;
      attributes.ah_attr.grh.traffic_class = settings.trafficClass;
      if (settings.flowLabel != 0) attributes.ah_attr.grh.flow_label = settings.flowLabel;
      mask |= IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER;
      break;
    case IBV_QPS_RTS:
      attributes.timeout = settings.timeout;
      attributes.retry_cnt = settings.retryCount;
      attributes.rnr_retry = kRnrRetry;
      mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
      break;
    default:
      break;
  }
  if (const int error = verbs->modifyQp(qp, &attributes, mask); error != 0) {
    return Status(
        HCCL_E_ROCE_CONNECT,
        fmt::format("Failed to allocate resource qp with info ModifyQp. Reason: the queue "
                    "pair cannot be moved to {}: {}.",
                    nameOf(state), std::strerror(error)),
        7);
  }
  return Status();
}

}  // namespace hccl::transport::rdma
