// RdmaSetup: the connections of rdma_cm, one for each queue pair.
#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/log.h"
#include "transport/rdma/rdma_setup.h"

namespace hccl::transport::rdma {

uint32_t RdmaSetup::flowLabel(size_t index) const {
  const auto& ports = railOf(index).sourcePorts;
  const size_t place = index / rails_.size();
  if (place >= ports.size()) return 0;
  const auto label = flowLabelOfPort(ports[place]);
  return label.isOk() ? *label : 0;
}

Status RdmaSetup::move(size_t index, ibv_qp_state state) {
  QueueSettings settings = tools_.settings;
  settings.mtu = railOf(index).mtu;
  settings.flowLabel = flowLabel(index);
  return moveQueuePair(tools_.verbs, ids_[index]->get(), queues_->qp(index), state, settings);
}

void RdmaSetup::onEvent(size_t index, const CmId::Event& event) {
  if (over_) return;
  if (const Status status = advance(index, event); !status.isOk()) fail(status);
}

Status RdmaSetup::advance(size_t index, const CmId::Event& event) {
  rdma_cm_id* id = ids_[index]->get();
  const RailFacts& rail = railOf(index);
  VerbsApi* verbs = tools_.verbs;
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (id->verbs != rail.port.context) {
        return Status(HCCL_E_ROCE_CONNECT, fmt::format("the way to {} does not lead through {}",
                                                       rail.peer.toString(), rail.port.device));
      }
      if (verbs->resolveRoute(id, kResolveMs) != 0) {
        return Status(HCCL_E_ROCE_CONNECT,
                      fmt::format("rdma_resolve_route: {}", std::strerror(errno)));
      }
      return Status();
    case RDMA_CM_EVENT_ROUTE_RESOLVED: {
      HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_INIT));
      HCCL_RETURN_IF_ERROR(queues_->postReceives(index, queues_->receiveEntries(index)));
      const std::string greeting =
          makeGreeting(host_->facts(), callerToken_, static_cast<uint16_t>(index));
      rdma_conn_param parameters{};
      parameters.private_data = greeting.data();
      parameters.private_data_len = static_cast<uint8_t>(greeting.size());
      parameters.retry_count = tools_.settings.retryCount;
      parameters.rnr_retry_count = kRnrRetry;
      parameters.qp_num = queues_->qp(index)->qp_num;
      if (verbs->connect(id, &parameters) != 0) {
        return Status(HCCL_E_ROCE_CONNECT, fmt::format("rdma_connect: {}", std::strerror(errno)));
      }
      return Status();
    }
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_RTR));
      HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_RTS));
      if (verbs->establish(id) != 0) {
        return Status(HCCL_E_ROCE_CONNECT, fmt::format("rdma_establish: {}", std::strerror(errno)));
      }
      established(index);
      return Status();
    case RDMA_CM_EVENT_ESTABLISHED:
      established(index);
      return Status();
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
    case RDMA_CM_EVENT_DISCONNECTED:
      return Status(HCCL_E_ROCE_CONNECT,
                    fmt::format("rdma_cm between {} and {}: {} ({})", rail.port.address.toString(),
                                rail.peer.toString(), CmAgent::nameOf(event.type),
                                event.status < 0 ? std::strerror(-event.status)
                                                 : std::to_string(event.status)));
    default:
      return Status();
  }
}

// A caller at this end's door.
void RdmaSetup::onRequest(std::unique_ptr<CmId> id, const PrivateData& data) {
  Greeting greeting;
  std::string why =
      over_ ? "the attempt is over" : checkGreeting(host_->facts(), token_, data, &greeting);
  if (why.empty() && (greeting.queue >= ids_.size() || ids_[greeting.queue])) {
    why = "it names no free queue pair";
  }
  if (why.empty() && id->get()->verbs != railOf(greeting.queue).port.context) {
    why = "it came through another device";
  }
  if (!why.empty()) {
    HCCL_RUN_WARNING("an RDMA connection request to rank {} of {} was refused: {}",
                     host_->facts().rank, host_->facts().communicator, why);
    (void)tools_.verbs->reject(id->get());
    return;
  }
  const size_t index = greeting.queue;
  ids_[index] = std::move(id);
  ids_[index]->onEvent = [this, index](const CmId::Event& event) { onEvent(index, event); };
  if (const Status status = acceptRequest(index); !status.isOk()) {
    (void)tools_.verbs->reject(ids_[index]->get());
    fail(status);
  }
}

Status RdmaSetup::acceptRequest(size_t index) {
  HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_INIT));
  HCCL_RETURN_IF_ERROR(queues_->postReceives(index, queues_->receiveEntries(index)));
  HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_RTR));
  HCCL_RETURN_IF_ERROR(move(index, IBV_QPS_RTS));
  rdma_conn_param parameters{};
  parameters.rnr_retry_count = kRnrRetry;
  parameters.qp_num = queues_->qp(index)->qp_num;
  if (tools_.verbs->accept(ids_[index]->get(), &parameters) != 0) {
    return Status(HCCL_E_ROCE_CONNECT, fmt::format("rdma_accept: {}", std::strerror(errno)));
  }
  return Status();
}

void RdmaSetup::established(size_t index) {
  established_[index] = true;
  finishIfComplete();
}

}  // namespace hccl::transport::rdma
