#include "tests/unit/rdma/fake_verbs.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hccl::transport::rdma {

ibv_gid gidOf(const std::string& address) {
  ibv_gid gid{};
  const auto ip = IpAddress::parse(address).value();
  if (ip.isV4()) {
    gid.raw[10] = gid.raw[11] = 0xff;
    std::memcpy(gid.raw + 12, ip.bytes().data(), 4);
  } else {
    std::memcpy(gid.raw, ip.bytes().data(), 16);
  }
  return gid;
}

FakeVerbs::~FakeVerbs() = default;

FakeDevice* FakeVerbs::addDevice(const std::string& name, std::vector<FakePort> ports) {
  FakeDevice& device = devices_.emplace_back();
  device.name = name;
  device.ports = std::move(ports);
  device.context.async_fd = -1;
  return &device;
}

bool FakeVerbs::fails(const std::string& call) {
  ++calls[call];
  const auto later = failingAfter.find(call);
  if (later != failingAfter.end() && later->second-- > 0) return false;
  const auto it = failing.find(call);
  if (it == failing.end()) return false;
  errno = it->second;
  return true;
}

FakeDevice* FakeVerbs::of(ibv_context* context) {
  for (FakeDevice& device : devices_) {
    if (&device.context == context) return &device;
  }
  return nullptr;
}

std::vector<ibv_context*> FakeVerbs::devices() {
  if (fails("devices")) return {};
  std::vector<ibv_context*> all;
  for (FakeDevice& device : devices_) all.push_back(&device.context);
  return all;
}

int FakeVerbs::queryDevice(ibv_context* context, ibv_device_attr* attributes) {
  if (fails("queryDevice")) return errno;
  const FakeDevice* device = of(context);
  attributes->phys_port_cnt = static_cast<uint8_t>(device->ports.size());
  attributes->max_qp_wr = device->maxQpWr;
  attributes->max_cqe = device->maxCqe;
  attributes->vendor_id = device->vendor;
  return 0;
}

int FakeVerbs::queryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes) {
  if (fails("queryPort")) return errno;
  const FakePort& fake = of(context)->ports.at(port - 1);
  attributes->state = fake.state;
  attributes->active_mtu = fake.mtu;
  attributes->link_layer = fake.linkLayer;
  attributes->gid_tbl_len = static_cast<int>(fake.gids.size()) + 2;
  return 0;
}

int FakeVerbs::queryGid(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry) {
  const FakePort& fake = of(context)->ports.at(port - 1);
  if (index >= fake.gids.size()) return ENODATA;
  entry->gid = gidOf(fake.gids[index].address);
  entry->gid_type = fake.gids[index].type;
  return 0;
}

std::vector<ibv_gid_entry> FakeVerbs::gidTable(ibv_context* context) {
  std::vector<ibv_gid_entry> entries;
  const auto& ports = of(context)->ports;
  for (uint32_t port = 1; port <= ports.size(); ++port) {
    for (uint32_t index = 0; index < ports[port - 1].gids.size(); ++index) {
      ibv_gid_entry& entry = entries.emplace_back();
      (void)queryGid(context, port, index, &entry);
      entry.port_num = port;
      entry.gid_index = index;
    }
  }
  return entries;
}

int FakeVerbs::getAsyncEvent(ibv_context* context, ibv_async_event* event) {
  auto& events = of(context)->events;
  if (events.empty()) {
    errno = EAGAIN;
    return -1;
  }
  *event = events.front();
  events.pop_front();
  return 0;
}

// ---- objects ----

ibv_pd* FakeVerbs::allocPd(ibv_context* context) {
  if (fails("allocPd")) return nullptr;
  ++live_;
  return new ibv_pd{context, 1};
}
int FakeVerbs::deallocPd(ibv_pd* pd) {
  --live_;
  delete pd;
  return 0;
}
ibv_mr* FakeVerbs::regMr(ibv_pd* pd, void* address, size_t bytes, int) {
  if (fails("regMr")) return nullptr;
  ++live_;
  auto* mr = new ibv_mr{};
  mr->pd = pd;
  mr->addr = address;
  mr->length = bytes;
  mr->lkey = mr->rkey = ++nextNumber_;
  regions_[mr->lkey] = mr;
  return mr;
}
int FakeVerbs::deregMr(ibv_mr* mr) {
  --live_;
  regions_.erase(mr->lkey);
  delete mr;
  return 0;
}
ibv_comp_channel* FakeVerbs::createCompChannel(ibv_context* context) {
  if (fails("createCompChannel")) return nullptr;
  ++live_;
  auto* channel = new FakeChannel;
  channel->channel.context = context;
  channel->channel.fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  return &channel->channel;
}
int FakeVerbs::destroyCompChannel(ibv_comp_channel* channel) {
  --live_;
  ::close(channel->fd);
  delete reinterpret_cast<FakeChannel*>(channel);
  return 0;
}
ibv_cq* FakeVerbs::createCq(ibv_context* context, int entries, ibv_comp_channel* channel) {
  if (fails("createCq")) return nullptr;
  ++live_;
  auto* cq = new FakeCq;
  cq->cq.context = context;
  cq->cq.cqe = entries;
  cq->channel = channel;
  return &cq->cq;
}
int FakeVerbs::destroyCq(ibv_cq* cq) {
  --live_;
  delete cqOf(cq);
  return 0;
}
ibv_qp* FakeVerbs::createQp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  if (fails("createQp")) return nullptr;
  ++live_;
  auto* qp = new FakeQp;
  qp->qp.context = pd->context;
  qp->qp.qp_num = ++nextNumber_;
  qp->cq = cqOf(attributes->send_cq);
  qp->init = *attributes;
  qps_.push_back(qp);
  return &qp->qp;
}
int FakeVerbs::modifyQp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  if (fails("modifyQp")) return errno;
  FakeQp* fake = qpOf(qp);
  ibv_qp_attr& known = fake->attributes;
  if ((mask & IBV_QP_AV) != 0) known.ah_attr = attributes->ah_attr;
  if ((mask & IBV_QP_PATH_MTU) != 0) known.path_mtu = attributes->path_mtu;
  if ((mask & IBV_QP_TIMEOUT) != 0) known.timeout = attributes->timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) known.retry_cnt = attributes->retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) known.rnr_retry = attributes->rnr_retry;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) known.qp_access_flags = attributes->qp_access_flags;
  known.qp_state = attributes->qp_state;
  fake->broken = fake->broken || attributes->qp_state == IBV_QPS_ERR;
  fake->masks |= mask;
  return 0;
}
int FakeVerbs::queryQp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr*) {
  *attributes = qpOf(qp)->attributes;
  return 0;
}
int FakeVerbs::destroyQp(ibv_qp* qp) {
  --live_;
  FakeQp* fake = qpOf(qp);
  if (fake->peer != nullptr) fake->peer->peer = nullptr;
  qps_.remove(fake);
  delete fake;
  return 0;
}

// ---- the data path ----

void FakeVerbs::complete(FakeCq* cq, ibv_wc completion) {
  if (static_cast<int>(cq->done.size()) >= cq->cq.cqe) ++overruns;
  cq->done.push_back(completion);
  if (!std::exchange(cq->armed, false)) return;
  ++reinterpret_cast<FakeChannel*>(cq->channel)->events;
  const uint64_t one = 1;
  (void)!::write(cq->channel->fd, &one, sizeof one);
}

int FakeVerbs::postSend(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  *bad = request;
  if (fails("postSend")) return errno;
  FakeQp* fake = qpOf(qp);
  if (fake->posted - fake->freed >= fake->init.cap.max_send_wr) return ENOMEM;
  fake->order[request->wr_id] = ++fake->posted;
  Request made{fake, *request, {}, {}};
  made.places.assign(request->sg_list, request->sg_list + request->num_sge);
  if ((request->send_flags & IBV_SEND_INLINE) != 0) {
    for (const ibv_sge& place : std::exchange(made.places, {})) {
      const auto* from = reinterpret_cast<const std::byte*>(place.addr);
      made.data.insert(made.data.end(), from, from + place.length);
    }
  }
  if (held) {
    waiting_.push_back(std::move(made));
  } else {
    carryOut(made);
  }
  return 0;
}

void FakeVerbs::deliver(bool lastFirst) {
  auto all = std::exchange(waiting_, {});
  if (lastFirst) {
    all.sort([](const Request& a, const Request& b) { return a.qp->qp.qp_num > b.qp->qp.qp_num; });
  }
  for (const Request& one : all) carryOut(one);
}

bool FakeVerbs::isRegistered(uint32_t key, uint64_t address, uint64_t bytes) const {
  const auto it = regions_.find(key);
  if (it == regions_.end()) return false;
  const auto begin = reinterpret_cast<uint64_t>(it->second->addr);
  return address >= begin && address + bytes <= begin + it->second->length;
}

// What the device reads, it reads now.
void FakeVerbs::carryOut(const Request& request) {
  FakeQp* qp = request.qp;
  const ibv_send_wr& work = request.work;
  ibv_wc done{};
  done.wr_id = work.wr_id;
  done.qp_num = qp->qp.qp_num;
  done.status = qp->broken ? IBV_WC_WR_FLUSH_ERR : sendStatus;
  if ((qp->peer == nullptr || qp->peer->broken) && done.status == IBV_WC_SUCCESS) {
    done.status = IBV_WC_RETRY_EXC_ERR;
  }
  std::vector<std::byte> data = request.data;
  for (const ibv_sge& place : request.places) {
    if (done.status != IBV_WC_SUCCESS) break;
    if (!isRegistered(place.lkey, place.addr, place.length)) done.status = IBV_WC_LOC_PROT_ERR;
    const auto* from = reinterpret_cast<const std::byte*>(place.addr);
    data.insert(data.end(), from, from + place.length);
  }
  const uint64_t to = work.wr.rdma.remote_addr;
  if (done.status == IBV_WC_SUCCESS && !isRegistered(work.wr.rdma.rkey, to, data.size())) {
    done.status = IBV_WC_REM_ACCESS_ERR;
  }
  if (done.status == IBV_WC_LOC_PROT_ERR || done.status == IBV_WC_REM_ACCESS_ERR) ++strayWrites;
  if (done.status != IBV_WC_SUCCESS) {
    qp->broken = true;
    return complete(qp->cq, done);
  }
  ++writes;
  ++writesOf[qp->qp.qp_num];
  if (!data.empty()) std::memcpy(reinterpret_cast<void*>(to), data.data(), data.size());
  if (work.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    FakeQp* peer = qp->peer;
    if (peer->receives.empty()) {
      ++notReady;
      return;
    }
    ibv_wc arrival{};
    arrival.wr_id = peer->receives.front();
    peer->receives.pop_front();
    arrival.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    arrival.imm_data = work.imm_data;
    arrival.byte_len = static_cast<uint32_t>(data.size());
    complete(peer->cq, arrival);
  }
  if ((work.send_flags & IBV_SEND_SIGNALED) != 0) complete(qp->cq, done);
}

int FakeVerbs::postRecv(ibv_qp* qp, ibv_recv_wr* requests, ibv_recv_wr** bad) {
  *bad = requests;
  if (fails("postRecv")) return errno;
  FakeQp* fake = qpOf(qp);
  for (; requests != nullptr; requests = requests->next) {
    if (fake->receives.size() >= fake->init.cap.max_recv_wr) return ENOMEM;
    fake->receives.push_back(requests->wr_id);
  }
  return 0;
}

int FakeVerbs::pollCq(ibv_cq* cq, int entries, ibv_wc* completions) {
  if (fails("pollCq")) return -1;
  FakeCq* fake = cqOf(cq);
  int count = 0;
  for (; count < entries && !fake->done.empty(); ++count) {
    completions[count] = fake->done.front();
    fake->done.pop_front();
    // A signalled completion frees all requests before it, too.
    if (completions[count].opcode == IBV_WC_RECV_RDMA_WITH_IMM) continue;
    for (FakeQp* qp : qps_) {
      if (qp->qp.qp_num == completions[count].qp_num) {
        qp->freed = qp->order[completions[count].wr_id];
      }
    }
  }
  return count;
}

int FakeVerbs::reqNotifyCq(ibv_cq* cq) {
  if (fails("reqNotifyCq")) return errno;
  cqOf(cq)->armed = true;
  return 0;
}

bool FakeVerbs::getCqEvent(ibv_comp_channel* channel) {
  auto* fake = reinterpret_cast<FakeChannel*>(channel);
  if (fake->events == 0) return false;
  --fake->events;
  uint64_t one;
  (void)!::read(channel->fd, &one, sizeof one);
  return true;
}

}  // namespace hccl::transport::rdma
