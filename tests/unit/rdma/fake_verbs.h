// FakeVerbs: RDMA devices, queue pairs and rdma_cm in the memory of one process. Requests are
// carried out at once; any call can be made to fail.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/ip_address.h"
#include "transport/rdma/verbs_api.h"

namespace hccl::transport::rdma {

ibv_gid gidOf(const std::string& address);

struct FakeGid {
  std::string address;  // as in IpAddress::parse
  uint32_t type = IBV_GID_TYPE_ROCE_V2;
};
struct FakePort {
  ibv_port_state state = IBV_PORT_ACTIVE;
  ibv_mtu mtu = IBV_MTU_4096;
  uint8_t linkLayer = IBV_LINK_LAYER_ETHERNET;
  std::vector<FakeGid> gids;
};
struct FakeDevice {
  ibv_context context{};
  std::string name;
  std::vector<FakePort> ports;
  int nearness = -1;
  int maxQpWr = 4096, maxCqe = 100000;
  uint32_t vendor = 0x02c9;
  std::deque<ibv_async_event> events;
};

struct FakeQp;
struct FakeCq {
  ibv_cq cq{};
  std::deque<ibv_wc> done;
  bool armed = false;
  ibv_comp_channel* channel = nullptr;
};
struct FakeChannel {
  ibv_comp_channel channel{};
  int events = 0;
};
struct FakeQp {
  ibv_qp qp{};
  FakeCq* cq = nullptr;
  FakeQp* peer = nullptr;
  std::deque<uint64_t> receives;       // ids of receive entries
  uint64_t posted = 0, freed = 0;      // send requests
  std::map<uint64_t, uint64_t> order;  // of the signalled ones, by their id
  ibv_qp_init_attr init{};
  ibv_qp_attr attributes{};  // as moved to
  int masks = 0;
  bool broken = false;
};
struct FakeEvents;
struct FakeId {
  rdma_cm_id id{};
  FakeEvents* events = nullptr;
  FakeId* peer = nullptr;
  uint16_t listening = 0;
  uint32_t qpNumber = 0;
  ibv_context* answering = nullptr;  // the device that it calls
};
struct FakeEvents {
  rdma_event_channel channel{};
  std::deque<rdma_cm_event*> queue;
};

class FakeVerbs final : public VerbsApi {
 public:
  ~FakeVerbs() override;
  FakeDevice* addDevice(const std::string& name, std::vector<FakePort> ports);

  // errno by the name of the call; it fails for ever.
  std::map<std::string, int> failing;
  std::map<std::string, int> failingAfter;  // that many calls more succeed
  std::map<std::string, int> calls;
  // What happens to a connection request.
  enum class Answer { kDeliver, kReject, kSilence, kUnreachable };
  Answer answer = Answer::kDeliver;
  std::function<void(std::string*)> onPrivateData;  // may forge it
  // Deliveries wait until deliver() when set. `lastFirst`: later queue pairs overtake earlier ones.
  bool held = false;
  void deliver(bool lastFirst = false);
  // Next send requests fail with this status (of all queue pairs).
  ibv_wc_status sendStatus = IBV_WC_SUCCESS;
  uint64_t notReady = 0;     // sends that met no receive entry
  uint64_t overruns = 0;     // of completion queues
  uint64_t strayWrites = 0;  // from or to memory that is not registered
  uint64_t writes = 0;
  uint64_t acknowledged = 0;              // asynchronous events
  std::map<uint32_t, uint64_t> writesOf;  // by queue pair
  int live() const { return live_; }      // objects that were not destroyed
  size_t liveRegions() const { return regions_.size(); }
  FakeQp* lastQp() { return qps_.empty() ? nullptr : qps_.back(); }
  const std::list<FakeQp*>& queuePairs() const { return qps_; }

  bool hasDevices() override { return !devices_.empty(); }
  std::vector<ibv_context*> devices() override;
  std::string deviceName(ibv_context* context) override { return of(context)->name; }
  int nearness(ibv_context* context) override {
    ++calls["nearness"];
    return of(context)->nearness;
  }
  int queryDevice(ibv_context* context, ibv_device_attr* attributes) override;
  int queryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes) override;
  int queryGid(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry) override;
  std::vector<ibv_gid_entry> gidTable(ibv_context* context) override;
  int getAsyncEvent(ibv_context* context, ibv_async_event* event) override;
  void ackAsyncEvent(ibv_async_event*) override { ++acknowledged; }
  ibv_pd* allocPd(ibv_context* context) override;
  int deallocPd(ibv_pd* pd) override;
  ibv_mr* regMr(ibv_pd* pd, void* address, size_t bytes, int access) override;
  int deregMr(ibv_mr* mr) override;
  ibv_comp_channel* createCompChannel(ibv_context* context) override;
  int destroyCompChannel(ibv_comp_channel* channel) override;
  ibv_cq* createCq(ibv_context* context, int entries, ibv_comp_channel* channel) override;
  int destroyCq(ibv_cq* cq) override;
  ibv_qp* createQp(ibv_pd* pd, ibv_qp_init_attr* attributes) override;
  int modifyQp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) override;
  int queryQp(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init) override;
  int destroyQp(ibv_qp* qp) override;
  int postSend(ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad) override;
  int postRecv(ibv_qp* qp, ibv_recv_wr* requests, ibv_recv_wr** bad) override;
  int pollCq(ibv_cq* cq, int entries, ibv_wc* completions) override;
  int reqNotifyCq(ibv_cq* cq) override;
  bool getCqEvent(ibv_comp_channel* channel) override;
  void ackCqEvents(ibv_cq*, unsigned) override {}
  rdma_event_channel* createEventChannel() override;
  void destroyEventChannel(rdma_event_channel* channel) override;
  rdma_cm_id* createId(rdma_event_channel* channel, void* context) override;
  int destroyId(rdma_cm_id* id) override;
  int setTypeOfService(rdma_cm_id*, uint8_t) override { return 0; }
  int bindAddress(rdma_cm_id* id, sockaddr* address) override;
  int listen(rdma_cm_id* id, int backlog) override;
  uint16_t listeningPort(rdma_cm_id* id) override;
  int resolveAddress(rdma_cm_id* id, sockaddr* from, sockaddr* to, int timeoutMs) override;
  int resolveRoute(rdma_cm_id* id, int timeoutMs) override;
  int connect(rdma_cm_id* id, rdma_conn_param* parameters) override;
  int accept(rdma_cm_id* id, rdma_conn_param* parameters) override;
  int reject(rdma_cm_id* id) override;
  int establish(rdma_cm_id* id) override;
  int disconnect(rdma_cm_id*) override { return 0; }
  int initQpAttributes(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) override;
  int getCmEvent(rdma_event_channel* channel, rdma_cm_event** event) override;
  int ackCmEvent(rdma_cm_event* event) override;

  // The calling end of the latest connection; the id that listens at the port.
  FakeId* connection() { return connection_; }
  FakeId* listener(uint16_t port) { return listeners_.at(port); }
  // An id is told something.
  void push(FakeId* id, rdma_cm_event_type type, int status = 0, const std::string& data = "");
  void complete(FakeCq* cq, ibv_wc completion);
  FakeCq* cqOf(ibv_cq* cq) { return reinterpret_cast<FakeCq*>(cq); }
  FakeQp* qpOf(ibv_qp* qp) { return reinterpret_cast<FakeQp*>(qp); }
  static void joinQps(FakeQp* a, FakeQp* b) {
    a->peer = b;
    b->peer = a;
  }

 private:
  bool fails(const std::string& call);
  FakeDevice* of(ibv_context* context);
  struct Request {
    FakeQp* qp;
    ibv_send_wr work;
    std::vector<ibv_sge> places;
    std::vector<std::byte> data;  // of those that hold it
  };
  void carryOut(const Request& request);
  bool isRegistered(uint32_t key, uint64_t address, uint64_t bytes) const;
  FakeQp* byNumber(uint32_t number);
  ibv_context* contextOf(const sockaddr* address, bool last);

  std::list<FakeDevice> devices_;
  std::list<FakeQp*> qps_;
  std::list<Request> waiting_;
  std::map<uint32_t, ibv_mr*> regions_;  // by key
  std::map<std::string, uint16_t> bound_;
  std::map<uint16_t, FakeId*> listeners_;
  FakeId* connection_ = nullptr;
  std::map<rdma_cm_event*, std::string> privateData_;
  uint32_t nextNumber_ = 100;
  uint16_t nextPort_ = 5000;
  int live_ = 0;
};

}  // namespace hccl::transport::rdma
