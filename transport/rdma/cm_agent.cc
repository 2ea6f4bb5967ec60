#include "transport/rdma/cm_agent.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/log.h"

namespace hccl::transport::rdma {
namespace {

constexpr int kBacklog = 1024;

Status cmError(const std::string& what) {
  return Status(HCCL_E_ROCE_CONNECT, fmt::format("{}: {}", what, std::strerror(errno)));
}

sockaddr* asSockaddr(sockaddr_storage* storage) {
  return reinterpret_cast<sockaddr*>(storage);
}

}  // namespace

CmId::CmId(CmAgent* agent, rdma_cm_id* id) : agent_(agent), id_(agent->verbs_, id) {
  agent_->ids_[id] = this;
}

CmId::~CmId() {
  agent_->ids_.erase(id_.get());
}

Result<CmAgent*> CmAgent::instance() {
  // Never destroyed, as the control thread.
  static CmAgent* agent = nullptr;
  if (agent == nullptr) {
    HCCL_ASSIGN_OR_RETURN(ControlThread * thread, ControlThread::instance());
    HCCL_ASSIGN_OR_RETURN(auto made, make(realVerbs(), thread));
    agent = made.release();
  }
  return agent;
}

Result<std::unique_ptr<CmAgent>> CmAgent::make(VerbsApi* verbs, ControlThread* thread) {
  std::unique_ptr<CmAgent> agent(new CmAgent);
  agent->verbs_ = verbs;
  agent->thread_ = thread;
  agent->channel_ = EventChannel(verbs, verbs->createEventChannel());
  if (!agent->channel_) return cmError("no channel for rdma_cm events (/dev/infiniband/rdma_cm)");
  if (thread != nullptr) {
    agent->watch_ = thread->watch(agent->channel_->fd, EPOLLIN,
                                  [raw = agent.get()](uint32_t) { raw->readEvents(); });
    if (agent->watch_ == 0) return cmError("rdma_cm events cannot be watched");
  }
  return agent;
}

CmAgent::~CmAgent() {
  if (watch_ != 0) thread_->unwatch(watch_);
  listeners_.clear();
}

Result<std::unique_ptr<CmId>> CmAgent::resolve(const IpAddress& from, const SocketAddress& to,
                                               uint8_t typeOfService, int timeoutMs) {
  rdma_cm_id* raw = verbs_->createId(channel_.get(), nullptr);
  if (raw == nullptr) return cmError("rdma_create_id");
  auto id = std::make_unique<CmId>(this, raw);
  // Only the packets of rdma_cm itself depend on it: the queue pairs are given their own.
  (void)verbs_->setTypeOfService(raw, typeOfService);
  sockaddr_storage source{}, destination{};
  SocketAddress{from, 0}.toSockaddr(&source);
  to.toSockaddr(&destination);
  if (verbs_->resolveAddress(raw, asSockaddr(&source), asSockaddr(&destination), timeoutMs) != 0) {
    return cmError(fmt::format("rdma_resolve_addr from {} to {}", from.toString(), to.toString()));
  }
  return id;
}

Result<uint16_t> CmAgent::listen(const IpAddress& address) {
  const auto known = listeners_.find(address);
  if (known != listeners_.end()) return known->second.second;
  rdma_cm_id* raw = verbs_->createId(channel_.get(), nullptr);
  if (raw == nullptr) return cmError("rdma_create_id");
  auto id = std::make_unique<CmId>(this, raw);
  sockaddr_storage own{};
  SocketAddress{address, 0}.toSockaddr(&own);
  if (verbs_->bindAddress(raw, asSockaddr(&own)) != 0) {
    return cmError(fmt::format("rdma_bind_addr to {}", address.toString()));
  }
  if (verbs_->listen(raw, kBacklog) != 0) {
    return cmError(fmt::format("rdma_listen on {}", address.toString()));
  }
  const uint16_t port = verbs_->listeningPort(raw);
  id->onEvent = [this, address](const CmId::Event& event) {
    // The next link listens anew, if the address has a device again by then.
    if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL) listeners_.erase(address);
  };
  listeners_.emplace(address, std::make_pair(std::move(id), port));
  return port;
}

void CmAgent::expect(uint64_t token, Acceptor acceptor) {
  acceptors_[token] = std::move(acceptor);
}

void CmAgent::forget(uint64_t token) {
  acceptors_.erase(token);
}

void CmAgent::readEvents() {
  rdma_cm_event* event = nullptr;
  while (verbs_->getCmEvent(channel_.get(), &event) == 0) {
    rdma_cm_id* id = event->id;
    const CmId::Event copy{event->event, event->status};
    PrivateData data;
    if (copy.type == RDMA_CM_EVENT_CONNECT_REQUEST && event->param.conn.private_data != nullptr) {
      data.assign(static_cast<const char*>(event->param.conn.private_data),
                  event->param.conn.private_data_len);
    }
    // An id cannot be destroyed while an event of it is held.
    verbs_->ackCmEvent(event);
    if (copy.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      onRequest(id, data);
      continue;
    }
    const auto known = ids_.find(id);
    if (known == ids_.end() || !known->second->onEvent) continue;
    const auto handler = known->second->onEvent;  // it may destroy the id
    handler(copy);
  }
}

void CmAgent::onRequest(rdma_cm_id* raw, const PrivateData& data) {
  auto id = std::make_unique<CmId>(this, raw);
  uint64_t token = 0;
  if (data.size() >= sizeof token) std::memcpy(&token, data.data(), sizeof token);
  const auto acceptor = acceptors_.find(token);
  if (acceptor == acceptors_.end()) {
    HCCL_RUN_WARNING("an RDMA connection request that belongs to no link was refused");
    (void)verbs_->reject(raw);
    return;
  }
  const auto call = acceptor->second;  // it may end the expectation
  call(std::move(id), data);
}

const char* CmAgent::nameOf(rdma_cm_event_type type) {
  return rdma_event_str(type);
}

}  // namespace hccl::transport::rdma
