#include "transport/rdma/verbs_api.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>

#include <cerrno>

#include "transport/control_thread.h"
#include "transport/rdma/nearness.h"

namespace hccl::transport::rdma {
namespace {

bool makeNonBlocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
         ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

class RealVerbs final : public VerbsApi {
 public:
  bool hasDevices() override {
    DIR* folder = ::opendir("/sys/class/infiniband");
    if (folder == nullptr) return false;
    bool any = false;
    while (const dirent* entry = ::readdir(folder)) any = any || entry->d_name[0] != '.';
    ::closedir(folder);
    return any;
  }

  std::vector<ibv_context*> devices() override {
    int count = 0;
    ibv_context** list = rdma_get_devices(&count);
    if (list == nullptr) return {};
    std::vector<ibv_context*> all(list, list + count);
    rdma_free_devices(list);  // the list; librdmacm keeps the contexts open
    for (const ibv_context* context : all) {
      makeNonBlocking(context->async_fd);
      closeInForkedChild(context->async_fd);
      closeInForkedChild(context->cmd_fd);
    }
    return all;
  }

  std::string deviceName(ibv_context* context) override {
    return ibv_get_device_name(context->device);
  }

  int nearness(ibv_context* context) override { return nearnessHere(deviceName(context)); }

  int queryDevice(ibv_context* context, ibv_device_attr* attributes) override {
    return ibv_query_device(context, attributes);
  }
  int queryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes) override {
    return ibv_query_port(context, port, attributes);
  }
  int queryGid(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry) override {
    return ibv_query_gid_ex(context, port, index, entry, 0);
  }
  std::vector<ibv_gid_entry> gidTable(ibv_context* context) override {
    ibv_device_attr device{};
    if (ibv_query_device(context, &device) != 0) return {};
    size_t size = 0;
    for (uint8_t port = 1; port <= device.phys_port_cnt; ++port) {
      ibv_port_attr attributes{};
      if (ibv_query_port(context, port, &attributes) == 0) {
        size += static_cast<size_t>(attributes.gid_tbl_len);
      }
    }
    std::vector<ibv_gid_entry> entries(size);
    const ssize_t count = ibv_query_gid_table(context, entries.data(), size, 0);
    if (count < 0) errno = static_cast<int>(-count);
    entries.resize(count < 0 ? 0 : static_cast<size_t>(count));
    return entries;
  }
  int getAsyncEvent(ibv_context* context, ibv_async_event* event) override {
    return ibv_get_async_event(context, event);
  }
  void ackAsyncEvent(ibv_async_event* event) override { ibv_ack_async_event(event); }

  ibv_pd* allocPd(ibv_context* context) override { return ibv_alloc_pd(context); }
  int deallocPd(ibv_pd* pd) override { return ibv_dealloc_pd(pd); }
  ibv_mr* regMr(ibv_pd* pd, void* address, size_t bytes, int access) override {
    return ibv_reg_mr(pd, address, bytes, static_cast<unsigned>(access));
  }
  int deregMr(ibv_mr* mr) override { return ibv_dereg_mr(mr); }
  ibv_comp_channel* createCompChannel(ibv_context* context) override {
    ibv_comp_channel* channel = ibv_create_comp_channel(context);
    if (channel != nullptr) {
      makeNonBlocking(channel->fd);
      closeInForkedChild(channel->fd);
    }
    return channel;
  }
  int destroyCompChannel(ibv_comp_channel* channel) override {
    forgetForkedChildFd(channel->fd);
    return ibv_destroy_comp_channel(channel);
  }
  ibv_cq* createCq(ibv_context* context, int entries, ibv_comp_channel* channel) override {
    return ibv_create_cq(context, entries, nullptr, channel, 0);
  }
  int destroyCq(ibv_cq* cq) override { return ibv_destroy_cq(cq); }
  ibv_qp* createQp(ibv_pd* pd, ibv_qp_init_attr* attributes) override {
    return ibv_create_qp(pd, attributes);
  }
  int modifyQp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) override {
    return ibv_modify_qp(qp, attributes, mask);
  }
  int queryQp(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init) override {
    return ibv_query_qp(qp, attributes, mask, init);
  }
  int destroyQp(ibv_qp* qp) override { return ibv_destroy_qp(qp); }

  int postSend(ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad) override {
    return ibv_post_send(qp, requests, bad);
  }
  int postRecv(ibv_qp* qp, ibv_recv_wr* requests, ibv_recv_wr** bad) override {
    return ibv_post_recv(qp, requests, bad);
  }
  int pollCq(ibv_cq* cq, int entries, ibv_wc* completions) override {
    return ibv_poll_cq(cq, entries, completions);
  }
  int reqNotifyCq(ibv_cq* cq) override { return ibv_req_notify_cq(cq, 0); }
  bool getCqEvent(ibv_comp_channel* channel) override {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    return ibv_get_cq_event(channel, &cq, &context) == 0;
  }
  void ackCqEvents(ibv_cq* cq, unsigned count) override { ibv_ack_cq_events(cq, count); }

  rdma_event_channel* createEventChannel() override {
    rdma_event_channel* channel = rdma_create_event_channel();
    if (channel != nullptr) {
      makeNonBlocking(channel->fd);
      closeInForkedChild(channel->fd);
    }
    return channel;
  }
  void destroyEventChannel(rdma_event_channel* channel) override {
    forgetForkedChildFd(channel->fd);
    rdma_destroy_event_channel(channel);
  }
  rdma_cm_id* createId(rdma_event_channel* channel, void* context) override {
    rdma_cm_id* id = nullptr;
    return rdma_create_id(channel, &id, context, RDMA_PS_TCP) == 0 ? id : nullptr;
  }
  int destroyId(rdma_cm_id* id) override { return rdma_destroy_id(id); }
  int setTypeOfService(rdma_cm_id* id, uint8_t value) override {
    return rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &value, sizeof value);
  }
  int bindAddress(rdma_cm_id* id, sockaddr* address) override {
    return rdma_bind_addr(id, address);
  }
  int listen(rdma_cm_id* id, int backlog) override { return rdma_listen(id, backlog); }
  uint16_t listeningPort(rdma_cm_id* id) override { return ntohs(rdma_get_src_port(id)); }
  int resolveAddress(rdma_cm_id* id, sockaddr* from, sockaddr* to, int timeoutMs) override {
    return rdma_resolve_addr(id, from, to, timeoutMs);
  }
  int resolveRoute(rdma_cm_id* id, int timeoutMs) override {
    return rdma_resolve_route(id, timeoutMs);
  }
  int connect(rdma_cm_id* id, rdma_conn_param* parameters) override {
    return rdma_connect(id, parameters);
  }
  int accept(rdma_cm_id* id, rdma_conn_param* parameters) override {
    return rdma_accept(id, parameters);
  }
  int reject(rdma_cm_id* id) override { return rdma_reject(id, nullptr, 0); }
  int establish(rdma_cm_id* id) override { return rdma_establish(id); }
  int disconnect(rdma_cm_id* id) override { return rdma_disconnect(id); }
  int initQpAttributes(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) override {
    return rdma_init_qp_attr(id, attributes, mask);
  }
  int getCmEvent(rdma_event_channel* channel, rdma_cm_event** event) override {
    return rdma_get_cm_event(channel, event);
  }
  int ackCmEvent(rdma_cm_event* event) override { return rdma_ack_cm_event(event); }
};

}  // namespace

VerbsApi* realVerbs() {
  static RealVerbs verbs;
  return &verbs;
}

}  // namespace hccl::transport::rdma
