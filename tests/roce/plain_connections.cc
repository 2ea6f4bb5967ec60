// Connections of rdma_cm and nothing else, one after the other: what the device itself survives.
#include "tests/roce/plain_connections.h"

#include <fmt/core.h>

#include <cstring>

#include "src/base/clock.h"
#include "src/base/ip_address.h"
#include "transport/rdma/handles.h"

namespace hccl::roce {
namespace {

using transport::rdma::CompletionQueue;
using transport::rdma::ConnectionId;
using transport::rdma::EventChannel;
using transport::rdma::ProtectionDomain;
using transport::rdma::QueuePair;
using transport::rdma::realVerbs;
using transport::rdma::VerbsApi;

constexpr double kPatience = 10;  // seconds for one event

class PlainLoop {
 public:
  explicit PlainLoop(const std::string& address) : ip_(*IpAddress::parse(address)) {}

  std::string open() {
    channel_ = EventChannel(verbs_, verbs_->createEventChannel());
    if (!channel_) return "no event channel";
    listener_ = ConnectionId(verbs_, verbs_->createId(channel_.get(), nullptr));
    sockaddr_storage own{};
    SocketAddress{ip_, 0}.toSockaddr(&own);
    if (verbs_->bindAddress(listener_.get(), reinterpret_cast<sockaddr*>(&own)) != 0 ||
        verbs_->listen(listener_.get(), 16) != 0) {
      return fmt::format("cannot listen: {}", std::strerror(errno));
    }
    return "";
  }

  // "" when the connection came to be and ended.
  std::string cycle() {
    End caller, callee;
    caller.id = ConnectionId(verbs_, verbs_->createId(channel_.get(), nullptr));
    sockaddr_storage from{}, to{};
    SocketAddress{ip_, 0}.toSockaddr(&from);
    SocketAddress{ip_, verbs_->listeningPort(listener_.get())}.toSockaddr(&to);
    if (verbs_->resolveAddress(caller.id.get(), reinterpret_cast<sockaddr*>(&from),
                               reinterpret_cast<sockaddr*>(&to), 2000) != 0) {
      return "rdma_resolve_addr";
    }
    if (!wait(RDMA_CM_EVENT_ADDR_RESOLVED)) return trouble_;
    if (verbs_->resolveRoute(caller.id.get(), 2000) != 0) return "rdma_resolve_route";
    if (!wait(RDMA_CM_EVENT_ROUTE_RESOLVED)) return trouble_;
    if (!prepare(&caller)) return trouble_;
    rdma_conn_param parameters{};
    parameters.qp_num = caller.qp->qp_num;
    parameters.retry_count = parameters.rnr_retry_count = 6;
    if (verbs_->connect(caller.id.get(), &parameters) != 0) return "rdma_connect";
    if (!wait(RDMA_CM_EVENT_CONNECT_REQUEST)) return trouble_;
    callee.id = ConnectionId(verbs_, from_);
    if (!prepare(&callee) || !move(callee, IBV_QPS_RTR) || !move(callee, IBV_QPS_RTS)) {
      return trouble_;
    }
    parameters.qp_num = callee.qp->qp_num;
    if (verbs_->accept(callee.id.get(), &parameters) != 0) return "rdma_accept";
    if (!wait(RDMA_CM_EVENT_CONNECT_RESPONSE)) return trouble_;
    if (!move(caller, IBV_QPS_RTR) || !move(caller, IBV_QPS_RTS)) return trouble_;
    if (verbs_->establish(caller.id.get()) != 0) return "rdma_establish";
    if (!wait(RDMA_CM_EVENT_ESTABLISHED)) return trouble_;
    if (verbs_->disconnect(caller.id.get()) != 0) return "rdma_disconnect";
    return wait(RDMA_CM_EVENT_DISCONNECTED) ? "" : trouble_;
  }

 private:
  struct End {
    ConnectionId id;
    ProtectionDomain pd;
    CompletionQueue cq;
    QueuePair qp;
  };

  bool prepare(End* end) {
    ibv_context* context = end->id.get()->verbs;
    end->pd = ProtectionDomain(verbs_, verbs_->allocPd(context));
    end->cq = CompletionQueue(verbs_, verbs_->createCq(context, 4, nullptr));
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = end->cq.get();
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {1, 1, 1, 1, 0};
    if (end->pd && end->cq)
      end->qp = QueuePair(verbs_, verbs_->createQp(end->pd.get(), &attributes));
    if (!end->qp) trouble_ = "a queue pair cannot be made";
    return static_cast<bool>(end->qp) && move(*end, IBV_QPS_INIT);
  }

  bool move(const End& end, ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    int mask = 0;
    const bool good = verbs_->initQpAttributes(end.id.get(), &attributes, &mask) == 0 &&
                      verbs_->modifyQp(end.qp.get(), &attributes, mask) == 0;
    if (!good) trouble_ = "a queue pair cannot be moved";
    return good;
  }

  // The next event of this type; what else comes of ended connections is passed over.
  bool wait(rdma_cm_event_type type) {
    const Deadline deadline = Deadline::after(kPatience);
    while (!deadline.expired()) {
      rdma_cm_event* event = nullptr;
      if (verbs_->getCmEvent(channel_.get(), &event) != 0) continue;
      const rdma_cm_event_type got = event->event;
      from_ = event->id;
      verbs_->ackCmEvent(event);
      if (got == type) return true;
      if (got == RDMA_CM_EVENT_DISCONNECTED || got == RDMA_CM_EVENT_TIMEWAIT_EXIT) continue;
      trouble_ =
          fmt::format("event {} instead of {}", static_cast<int>(got), static_cast<int>(type));
      return false;
    }
    trouble_ = fmt::format("event {} does not come", static_cast<int>(type));
    return false;
  }

  VerbsApi* verbs_ = realVerbs();
  IpAddress ip_;
  EventChannel channel_;
  ConnectionId listener_;
  rdma_cm_id* from_ = nullptr;  // of the latest event
  std::string trouble_;
};

}  // namespace

int plainConnections(const std::string& address, int wanted, std::string* trouble) {
  PlainLoop loop(address);
  *trouble = loop.open();
  int done = 0;
  while (trouble->empty() && done < wanted) {
    *trouble = loop.cycle();
    if (trouble->empty()) ++done;
  }
  return done;
}

}  // namespace hccl::roce
