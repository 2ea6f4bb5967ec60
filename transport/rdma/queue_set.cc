#include "transport/rdma/queue_set.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "transport/rdma/lock_limit.h"

namespace hccl::transport::rdma {
namespace {

constexpr uint32_t kWantedInline = 128;

Status exhausted(const char* resource, const char* info, int error) {
  return Status(HCCL_E_MEMORY,
                fmt::format("Failed to allocate resource {} with info {}. Reason: Resources are "
                            "exhausted. ({}; RLIMIT_MEMLOCK is {})",
                            resource, info, std::strerror(error), lockLimit()),
                error == ENOMEM ? 11 : 7);
}

}  // namespace

std::string lockLimit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} bytes", limit.rlim_cur);
}

bool isLegal(const RingShape& shape) {
  return shape.depth >= kMinDepth && shape.depth <= kMaxDepth && std::has_single_bit(shape.depth) &&
         shape.cellBytes >= kMinCell && shape.cellBytes <= kMaxCell && shape.cellBytes % 64 == 0 &&
         shape.queuePairs >= 1 && shape.queuePairs <= kMaxQueuePairs;
}

uint32_t QueueSet::receiveEntries(size_t index) const {
  const uint32_t frames = shape_.depth + 1;
  return index != 0 ? frames : frames + shape_.depth / creditBatch() + 3;
}

uint32_t QueueSet::sendEntries(size_t index) const {
  // Also the end of a frame and a wake-up; on the first one credits, answers, probes, the flush.
  return index == 0 ? 2 * shape_.depth + 12 : shape_.depth + 6;
}

Result<std::shared_ptr<QueueSet>> QueueSet::make(
    const std::vector<std::shared_ptr<Device>>& devices, const RingShape& shape) {
  if (!isLegal(shape) || devices.empty() || devices.size() > shape.queuePairs) {
    return Status(HCCL_E_PARA, "the shape of the ring of cells is not legal");
  }
  std::shared_ptr<QueueSet> set(new QueueSet);
  set->shape_ = shape;
  set->rails_.resize(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) set->rails_[i].device = devices[i];
  HCCL_RETURN_IF_ERROR(set->open());
  return set;
}

Status QueueSet::open() {
  HCCL_ASSIGN_OR_RETURN(
      memory_, Mapping::create(memoryBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS));
  ::madvise(memory_.data(), memory_.size(), MADV_DONTFORK);
  ::madvise(memory_.data(), memory_.size(), MADV_DONTDUMP);
  for (size_t i = 0; i < rails_.size(); ++i) HCCL_RETURN_IF_ERROR(openRail(i));
  inlineBytes_ = kWantedInline;
  for (size_t i = 0; i < shape_.queuePairs; ++i) HCCL_RETURN_IF_ERROR(openQueue(i));
  return Status();
}

Status QueueSet::openRail(size_t index) {
  Rail& rail = rails_[index];
  Device& device = *rail.device;
  const size_t bytes = memoryBytes();
  uint64_t entries = 16;
  for (size_t i = index; i < shape_.queuePairs; i += rails_.size()) {
    const uint32_t most = std::max(sendEntries(i), receiveEntries(i));
    if (most > static_cast<uint32_t>(device.limits().max_qp_wr)) {
      return Status(HCCL_E_MEMORY,
                    fmt::format("{} allows {} work requests in a queue, {} are needed",
                                device.name(), device.limits().max_qp_wr, most));
    }
    entries += sendEntries(i) + receiveEntries(i);
  }
  if (entries > static_cast<uint64_t>(device.limits().max_cqe)) {
    return Status(HCCL_E_MEMORY, fmt::format("{} allows {} entries in a completion queue, {} are "
                                             "needed",
                                             device.name(), device.limits().max_cqe, entries));
  }
  rail.region =
      MemoryRegion(verbs(), verbs()->regMr(device.pd(), memory_.data(), bytes,
                                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  if (!rail.region) {
    const int error = errno;
    return Status(HCCL_E_MEMORY,
                  fmt::format("Failed to allocate {} bytes of NPU memory. They "
                              "cannot be registered "
                              "with {}: {}; the limit of locked memory "
                              "(RLIMIT_MEMLOCK, ulimit -l) "
                              "is {}",
                              bytes, device.name(), std::strerror(error), lockLimit()),
                  11);
  }
  rail.channel = CompletionChannel(verbs(), verbs()->createCompChannel(device.context()));
  if (!rail.channel) return exhausted("completion channel", "CreateCompChannel", errno);
  rail.cq = CompletionQueue(
      verbs(), verbs()->createCq(device.context(), static_cast<int>(entries), rail.channel.get()));
  if (!rail.cq) return exhausted("cq", "CreateCq", errno);
  return Status();
}

Status QueueSet::openQueue(size_t index) {
  const Rail& rail = rails_[railOf(index)];
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = rail.cq.get();
  attributes.qp_type = IBV_QPT_RC;
  attributes.sq_sig_all = 0;
  attributes.cap.max_send_wr = sendEntries(index);
  attributes.cap.max_recv_wr = receiveEntries(index);
  attributes.cap.max_send_sge = attributes.cap.max_recv_sge = 1;
  attributes.cap.max_inline_data = inlineBytes_;
  ibv_qp* qp = verbs()->createQp(rail.device->pd(), &attributes);
  if (qp == nullptr && errno == EINVAL && inlineBytes_ != 0) {  // no data in requests here
    attributes.cap.max_inline_data = inlineBytes_ = 0;
    qp = verbs()->createQp(rail.device->pd(), &attributes);
  }
  if (qp == nullptr) return exhausted("qp", "CreateQp", errno);
  qps_.emplace_back(verbs(), qp);
  return Status();
}

QueueSet::~QueueSet() {
  if (companions.empty()) return;
  // Connections belong to the control thread.
  if (auto thread = ControlThread::instance(); thread.isOk()) {
    (*thread)->post([last = std::move(companions)]() mutable { last.clear(); });
  }
}

void QueueSet::poison() {
  for (const QueuePair& qp : qps_) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    (void)verbs()->modifyQp(qp.get(), &attributes, IBV_QP_STATE);
  }
}

Status QueueSet::postReceives(size_t index, uint32_t count) {
  std::array<ibv_recv_wr, 32> requests;
  while (count > 0) {
    const auto batch = std::min<uint32_t>(count, requests.size());
    for (uint32_t i = 0; i < batch; ++i) {
      requests[i] = {};
      requests[i].wr_id = index;
      requests[i].next = i + 1 < batch ? &requests[i + 1] : nullptr;
    }
    ibv_recv_wr* bad = nullptr;
    if (const int error = verbs()->postRecv(qp(index), requests.data(), &bad); error != 0) {
      return Status(HCCL_E_NETWORK,
                    fmt::format("receive entries cannot be posted: {}", std::strerror(error)));
    }
    count -= batch;
  }
  return Status();
}

}  // namespace hccl::transport::rdma
