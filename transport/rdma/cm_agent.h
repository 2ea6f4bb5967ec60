// CmAgent: connections by rdma_cm, all on the control thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "src/base/ip_address.h"
#include "src/base/status.h"
#include "transport/control_thread.h"
#include "transport/rdma/handles.h"

namespace hccl::transport::rdma {

class CmAgent;

// One connection id, known to the agent until it is destroyed (on the control thread).
class CmId {
 public:
  struct Event {
    rdma_cm_event_type type;
    int status;
  };
  using Handler = std::function<void(const Event&)>;

  CmId(CmAgent* agent, rdma_cm_id* id);
  ~CmId();
  CmId(const CmId&) = delete;
  CmId& operator=(const CmId&) = delete;
  rdma_cm_id* get() const { return id_.get(); }
  Handler onEvent;

 private:
  CmAgent* agent_;
  ConnectionId id_;
};

// What a caller says with its request: at most 56 bytes.
using PrivateData = std::string;
inline constexpr size_t kMaxPrivateData = 56;

class CmAgent {
 public:
  // A request that names `token`. The acceptor owns the id and accepts or rejects.
  using Acceptor = std::function<void(std::unique_ptr<CmId> id, const PrivateData& data)>;

  // The one of the process. Control thread only, like everything here.
  static Result<CmAgent*> instance();
  // `thread` nullptr: events are read by readEvents() only (tests).
  static Result<std::unique_ptr<CmAgent>> make(VerbsApi* verbs, ControlThread* thread);
  ~CmAgent();

  VerbsApi* verbs() const { return verbs_; }
  // An id that resolves `to` from `from`; events follow.
  Result<std::unique_ptr<CmId>> resolve(const IpAddress& from, const SocketAddress& to,
                                        uint8_t typeOfService, int timeoutMs);
  // The port at which requests to this address are taken (made on first use, kept).
  Result<uint16_t> listen(const IpAddress& address);
  // Requests whose private data begins with this token go to the acceptor; all others are rejected.
  void expect(uint64_t token, Acceptor acceptor);
  void forget(uint64_t token);

  void readEvents();
  static const char* nameOf(rdma_cm_event_type type);

 private:
  friend class CmId;
  CmAgent() = default;
  void onRequest(rdma_cm_id* id, const PrivateData& data);

  VerbsApi* verbs_ = nullptr;
  ControlThread* thread_ = nullptr;
  EventChannel channel_;
  uint64_t watch_ = 0;
  std::map<rdma_cm_id*, CmId*> ids_;
  std::map<IpAddress, std::pair<std::unique_ptr<CmId>, uint16_t>> listeners_;
  std::map<uint64_t, Acceptor> acceptors_;
};

}  // namespace hccl::transport::rdma
