// VerbsApi: every call to libibverbs and librdmacm that the library makes, so that all logic above
// it is tested without a device. Failures are told as the libraries do: nullptr or -1 with errno,
// or an errno value, as noted.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <string>
#include <vector>

namespace hccl::transport::rdma {

class VerbsApi {
 public:
  virtual ~VerbsApi() = default;

  // Whether the kernel has any RDMA device at all. Cheap and silent.
  virtual bool hasDevices() = 0;
  // The contexts that librdmacm holds open, for the life of the process; empty with errno set when
  // there is none.
  virtual std::vector<ibv_context*> devices() = 0;
  virtual std::string deviceName(ibv_context* context) = 0;
  // How near it is to this process' processors: the more the nearer, -1 unknown (nearness.h).
  virtual int nearness(ibv_context* context) = 0;

  // errno values.
  virtual int queryDevice(ibv_context* context, ibv_device_attr* attributes) = 0;
  virtual int queryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes) = 0;
  virtual int queryGid(ibv_context* context, uint32_t port, uint32_t index,
                       ibv_gid_entry* entry) = 0;
  // The entries of all ports that hold an address; empty with errno set on failure.
  virtual std::vector<ibv_gid_entry> gidTable(ibv_context* context) = 0;
  // -1 with errno; EAGAIN when there is none (the descriptor does not block).
  virtual int getAsyncEvent(ibv_context* context, ibv_async_event* event) = 0;
  virtual void ackAsyncEvent(ibv_async_event* event) = 0;

  // nullptr with errno; errno values.
  virtual ibv_pd* allocPd(ibv_context* context) = 0;
  virtual int deallocPd(ibv_pd* pd) = 0;
  virtual ibv_mr* regMr(ibv_pd* pd, void* address, size_t bytes, int access) = 0;
  virtual int deregMr(ibv_mr* mr) = 0;
  virtual ibv_comp_channel* createCompChannel(ibv_context* context) = 0;
  virtual int destroyCompChannel(ibv_comp_channel* channel) = 0;
  virtual ibv_cq* createCq(ibv_context* context, int entries, ibv_comp_channel* channel) = 0;
  virtual int destroyCq(ibv_cq* cq) = 0;
  virtual ibv_qp* createQp(ibv_pd* pd, ibv_qp_init_attr* attributes) = 0;
  virtual int modifyQp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) = 0;
  virtual int queryQp(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init) = 0;
  virtual int destroyQp(ibv_qp* qp) = 0;

  // The data path.
  virtual int postSend(ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad) = 0;
  virtual int postRecv(ibv_qp* qp, ibv_recv_wr* requests, ibv_recv_wr** bad) = 0;
  virtual int pollCq(ibv_cq* cq, int entries, ibv_wc* completions) = 0;  // negative: failed
  virtual int reqNotifyCq(ibv_cq* cq) = 0;
  // Takes one event from a channel that does not block; false when there is none.
  virtual bool getCqEvent(ibv_comp_channel* channel) = 0;
  virtual void ackCqEvents(ibv_cq* cq, unsigned count) = 0;

  // Connections: nullptr or -1 with errno.
  virtual rdma_event_channel* createEventChannel() = 0;  // does not block
  virtual void destroyEventChannel(rdma_event_channel* channel) = 0;
  virtual rdma_cm_id* createId(rdma_event_channel* channel, void* context) = 0;
  virtual int destroyId(rdma_cm_id* id) = 0;
  virtual int setTypeOfService(rdma_cm_id* id, uint8_t value) = 0;
  virtual int bindAddress(rdma_cm_id* id, sockaddr* address) = 0;
  virtual int listen(rdma_cm_id* id, int backlog) = 0;
  virtual uint16_t listeningPort(rdma_cm_id* id) = 0;
  virtual int resolveAddress(rdma_cm_id* id, sockaddr* from, sockaddr* to, int timeoutMs) = 0;
  virtual int resolveRoute(rdma_cm_id* id, int timeoutMs) = 0;
  virtual int connect(rdma_cm_id* id, rdma_conn_param* parameters) = 0;
  virtual int accept(rdma_cm_id* id, rdma_conn_param* parameters) = 0;
  virtual int reject(rdma_cm_id* id) = 0;
  virtual int establish(rdma_cm_id* id) = 0;
  virtual int disconnect(rdma_cm_id* id) = 0;
  // Fills in what the connection knows of the state attributes->qp_state.
  virtual int initQpAttributes(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) = 0;
  virtual int getCmEvent(rdma_event_channel* channel, rdma_cm_event** event) = 0;
  virtual int ackCmEvent(rdma_cm_event* event) = 0;
};

// The real libraries.
VerbsApi* realVerbs();

}  // namespace hccl::transport::rdma
