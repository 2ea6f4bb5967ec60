// The rdma_cm half of FakeVerbs.
#include <cerrno>
#include <cstring>

#include "tests/unit/rdma/fake_verbs.h"

namespace hccl::transport::rdma {
namespace {

FakeId* idOf(rdma_cm_id* id) {
  return reinterpret_cast<FakeId*>(id);
}
FakeEvents* eventsOf(rdma_event_channel* channel) {
  return reinterpret_cast<FakeEvents*>(channel);
}

}  // namespace

rdma_event_channel* FakeVerbs::createEventChannel() {
  if (fails("createEventChannel")) return nullptr;
  ++live_;
  auto* events = new FakeEvents;
  events->channel.fd = -1;
  return &events->channel;
}
void FakeVerbs::destroyEventChannel(rdma_event_channel* channel) {
  --live_;
  auto* events = eventsOf(channel);
  for (rdma_cm_event* event : events->queue) {
    privateData_.erase(event);
    delete event;
  }
  delete events;
}
rdma_cm_id* FakeVerbs::createId(rdma_event_channel* channel, void* context) {
  if (fails("createId")) return nullptr;
  ++live_;
  auto* id = new FakeId;
  id->events = eventsOf(channel);
  id->id.channel = channel;
  id->id.context = context;
  return &id->id;
}
int FakeVerbs::destroyId(rdma_cm_id* id) {
  --live_;
  FakeId* fake = idOf(id);
  if (fake->listening != 0) listeners_.erase(fake->listening);
  if (fake->peer != nullptr) {
    fake->peer->peer = nullptr;
    push(fake->peer, RDMA_CM_EVENT_DISCONNECTED);
  }
  std::erase_if(fake->events->queue, [&](rdma_cm_event* event) {
    if (event->id != id) return false;
    privateData_.erase(event);
    delete event;
    return true;
  });
  delete fake;
  return 0;
}
int FakeVerbs::bindAddress(rdma_cm_id*, sockaddr*) {
  return fails("bindAddress") ? -1 : 0;
}
int FakeVerbs::listen(rdma_cm_id* id, int) {
  if (fails("listen")) return -1;
  FakeId* fake = idOf(id);
  fake->listening = ++nextPort_;
  listeners_[fake->listening] = fake;
  return 0;
}
uint16_t FakeVerbs::listeningPort(rdma_cm_id* id) {
  return idOf(id)->listening;
}

void FakeVerbs::push(FakeId* id, rdma_cm_event_type type, int status, const std::string& data) {
  auto* event = new rdma_cm_event{};
  event->id = &id->id;
  event->event = type;
  event->status = status;
  std::string& kept = privateData_[event] = data;
  event->param.conn.private_data = kept.data();
  event->param.conn.private_data_len = static_cast<uint8_t>(kept.size());
  id->events->queue.push_back(event);
}

// Of several that have the address the first or the last one; else the first or last of all.
ibv_context* FakeVerbs::contextOf(const sockaddr* address, bool last) {
  const auto wanted = IpAddress::fromSockaddr(address);
  FakeDevice* found = nullptr;
  for (FakeDevice& device : devices_) {
    for (const FakePort& port : device.ports) {
      for (const FakeGid& gid : port.gids) {
        const bool same = wanted && IpAddress::parse(gid.address) == wanted;
        if (same && (last || found == nullptr)) found = &device;
      }
    }
  }
  if (found == nullptr) found = last ? &devices_.back() : &devices_.front();
  return &found->context;
}

int FakeVerbs::resolveAddress(rdma_cm_id* id, sockaddr* from, sockaddr* to, int) {
  if (fails("resolveAddress")) return -1;
  id->verbs = contextOf(from, false);
  idOf(id)->answering = contextOf(to, true);
  const auto port = SocketAddress::fromSockaddr(to);
  idOf(id)->qpNumber = port ? port->port : 0;  // where it will call
  push(idOf(id), fails("ADDR_RESOLVED") ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED,
       fails("ADDR_RESOLVED") ? -ETIMEDOUT : 0);
  return 0;
}
int FakeVerbs::resolveRoute(rdma_cm_id* id, int) {
  if (fails("resolveRoute")) return -1;
  push(idOf(id), RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}
int FakeVerbs::connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  if (fails("connect")) return -1;
  FakeId* caller = idOf(id);
  const auto listener = listeners_.find(static_cast<uint16_t>(caller->qpNumber));
  caller->qpNumber = parameters->qp_num;
  std::string data(static_cast<const char*>(parameters->private_data),
                   parameters->private_data_len);
  if (onPrivateData) onPrivateData(&data);
  switch (answer) {
    case Answer::kSilence:
      return 0;
    case Answer::kReject:
      push(caller, RDMA_CM_EVENT_REJECTED, 28);
      return 0;
    case Answer::kUnreachable:
      push(caller, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
      return 0;
    default:
      break;
  }
  if (listener == listeners_.end()) {
    push(caller, RDMA_CM_EVENT_REJECTED, 8);
    return 0;
  }
  auto* callee = idOf(createId(&listener->second->events->channel, nullptr));
  callee->id.verbs = caller->answering;
  callee->peer = caller;
  caller->peer = callee;
  connection_ = caller;
  data.resize(std::max<size_t>(data.size(), 56));
  push(callee, RDMA_CM_EVENT_CONNECT_REQUEST, 0, data);
  return 0;
}
FakeQp* FakeVerbs::byNumber(uint32_t number) {
  for (FakeQp* qp : qps_) {
    if (qp->qp.qp_num == number) return qp;
  }
  return nullptr;
}
int FakeVerbs::accept(rdma_cm_id* id, rdma_conn_param* parameters) {
  if (fails("accept")) return -1;
  FakeId* callee = idOf(id);
  callee->qpNumber = parameters->qp_num;
  FakeQp* mine = byNumber(callee->qpNumber);
  FakeQp* theirs = byNumber(callee->peer->qpNumber);
  if (mine == nullptr || theirs == nullptr) {
    errno = EINVAL;
    return -1;
  }
  joinQps(mine, theirs);
  push(callee->peer, RDMA_CM_EVENT_CONNECT_RESPONSE);
  return 0;
}
int FakeVerbs::reject(rdma_cm_id* id) {
  ++calls["reject"];
  FakeId* fake = idOf(id);
  if (fake->peer == nullptr) return 0;
  fake->peer->peer = nullptr;
  push(fake->peer, RDMA_CM_EVENT_REJECTED, 28);
  fake->peer = nullptr;
  return 0;
}
int FakeVerbs::establish(rdma_cm_id* id) {
  if (fails("establish")) return -1;
  push(idOf(id)->peer, RDMA_CM_EVENT_ESTABLISHED);
  return 0;
}
int FakeVerbs::initQpAttributes(rdma_cm_id*, ibv_qp_attr* attributes, int* mask) {
  if (fails("initQpAttributes")) return -1;
  *mask = IBV_QP_STATE;
  if (attributes->qp_state == IBV_QPS_INIT) *mask |= IBV_QP_PORT | IBV_QP_PKEY_INDEX;
  if (attributes->qp_state == IBV_QPS_RTR) {
    *mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    attributes->path_mtu = IBV_MTU_4096;
    attributes->ah_attr.is_global = 1;
  }
  if (attributes->qp_state == IBV_QPS_RTS) *mask |= IBV_QP_SQ_PSN | IBV_QP_TIMEOUT;
  return 0;
}
int FakeVerbs::getCmEvent(rdma_event_channel* channel, rdma_cm_event** event) {
  auto& queue = eventsOf(channel)->queue;
  if (queue.empty()) {
    errno = EAGAIN;
    return -1;
  }
  *event = queue.front();
  queue.pop_front();
  return 0;
}
int FakeVerbs::ackCmEvent(rdma_cm_event* event) {
  privateData_.erase(event);
  delete event;
  return 0;
}

}  // namespace hccl::transport::rdma
