#include "transport/rdma/rdma_link.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/runtime/engine.h"

namespace hccl::transport::rdma {
namespace {

constexpr size_t kHeader = sizeof(FrameHeader);
constexpr uint64_t kSendMark = 1ULL << 63;  // in wr_id: a send request
constexpr int kQueueShift = 48;
constexpr uint64_t kRequestBits = (1ULL << kQueueShift) - 1;
// A receiver that hears nothing for so long asks the peer's device whether it is still there.
constexpr uint64_t kQuietNs = 500'000'000;

// A few milliseconds exact; the cheapest of all clocks, since it is read at every idle look.
uint64_t coarseNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

bool matches(const FrameHeader& got, const FrameHeader& expected) {
  return got.epoch == expected.epoch && got.sequence == expected.sequence &&
         got.signature == expected.signature && got.count == expected.count &&
         got.step == expected.step && got.bytes == expected.bytes;
}

}  // namespace

RdmaLink::RdmaLink(std::shared_ptr<QueueSet> queues, Settings settings, Names names)
    : queues_(std::move(queues)), settings_(std::move(settings)), names_(std::move(names)) {
  sends_.resize(queues_->shape().queuePairs);
  slots_.resize(depth());
  arrived_.resize(depth());
  armed_.resize(queues_->rails().size());
  deviceUsers_.resize(queues_->rails().size());
  if (settings_.wakeSet < 0) return;
  for (const Rail& rail : queues_->rails()) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.fd = rail.channel->fd;
    ::epoll_ctl(settings_.wakeSet, EPOLL_CTL_ADD, rail.channel->fd, &event);
  }
}

RdmaLink::~RdmaLink() {
  if (runtime::isForkedChild()) return;
  for (size_t i = 0; i < deviceUsers_.size(); ++i) {
    const Rail& rail = queues_->rails()[i];
    if (deviceUsers_[i] != 0) rail.device->removeUser(deviceUsers_[i]);
    if (settings_.wakeSet < 0) continue;
    ::epoll_ctl(settings_.wakeSet, EPOLL_CTL_DEL, rail.channel->fd, nullptr);
  }
}

uint64_t RdmaLink::watch(size_t rail, const PortChoice& port, Device::Report report) {
  const Rail& own = queues_->rails()[rail];
  Device::Interest interest{port, own.cq.get()};
  for (size_t i = rail; i < sends_.size(); i += queues_->rails().size()) {
    interest.queuePairs.push_back(queues_->qp(i));
  }
  // Nothing more comes of a peer that has left: what befalls the connection is no error.
  const auto trouble = [this, rail](const Status& status) {
    return peerLeft_.load() ? Status() : fail(status.text(), rail);
  };
  return deviceUsers_[rail] = own.device->addUser(std::move(interest), trouble, std::move(report));
}

// ---- sending ----

// Each queue pair that takes part carries at least the threshold.
uint32_t RdmaLink::queuesFor(uint64_t bytes) const {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(bytes / settings_.stripeBytes, 1, sends_.size()));
}

// The cell before in the same place has been sent (a lost packet may be sent again until then).
bool RdmaLink::slotIsFree(uint64_t cell) const {
  const Slot& slot = slots_[cell % depth()];
  return sends_[slot.queue].completed >= slot.request;
}

bool RdmaLink::hasRoom(size_t queue) const {
  const Queue& q = sends_[queue];
  // The last two entries are for a probe and the flush.
  return q.posted - q.completed + 2 < queues_->sendEntries(queue);
}

bool RdmaLink::post(size_t queue, ibv_send_wr* request, bool signal) {
  Queue& q = sends_[queue];
  signal = signal || ++q.unsignalled >= queues_->creditBatch();
  if (signal) {
    request->send_flags |= IBV_SEND_SIGNALED;
    q.unsignalled = 0;
  }
  ++q.posted;
  request->wr_id = kSendMark | static_cast<uint64_t>(queue) << kQueueShift | q.posted;
  ibv_send_wr* bad = nullptr;
  const int error = queues_->verbs()->postSend(queues_->qp(queue), request, &bad);
  if (error == 0) return true;
  (void)fail(fmt::format("a work request cannot be posted: {}", std::strerror(error)),
             queues_->railOf(queue));
  return false;
}

void RdmaLink::writeCell(SendState& state, size_t queue, bool signal) {
  const auto slot = static_cast<uint32_t>(written_ % depth());
  std::byte* cell = queues_->source(slot);
  const uint64_t total = kHeader + state.header.bytes;
  const size_t bytes = std::min<uint64_t>(queues_->shape().cellBytes, total - state.sent);
  std::byte* to = cell;
  size_t payload = bytes;
  if (state.sent == 0) {
    std::memcpy(to, &state.header, kHeader);
    to += kHeader;
    payload -= kHeader;
  }
  if (payload != 0) {
    const size_t from = state.sent == 0 ? 0 : state.sent - kHeader;
    std::memcpy(to, state.data + from, payload);
  }
  ibv_sge piece{};
  piece.addr = reinterpret_cast<uint64_t>(cell);
  piece.length = static_cast<uint32_t>(bytes);
  piece.lkey = queues_->localKey(queue);
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.sg_list = &piece;
  request.num_sge = 1;
  if (bytes <= queues_->inlineBytes()) request.send_flags |= IBV_SEND_INLINE;
  const uint32_t credits = std::min(owed_, Immediate::kMaxCredits);
  request.imm_data = htonl(Immediate::make(false, credits, written_));
  request.wr.rdma.remote_addr =
      settings_.remoteRing + static_cast<uint64_t>(slot) * queues_->shape().cellBytes;
  request.wr.rdma.rkey = settings_.remoteKeys[queues_->railOf(queue)];
  if (!post(queue, &request, signal)) return;
  owed_ -= credits;
  slots_[slot] = {static_cast<uint32_t>(queue), sends_[queue].posted};
  ++written_;
  ++frameCell_;
  state.sent += bytes;
}

Io RdmaLink::send(SendState& state) noexcept {
  std::lock_guard lock(mutex_);
  Io io = poll() ? Io::kProgress : Io::kIdle;
  if (state.sent == 0) frameCell_ = 0;
  const uint64_t total = kHeader + state.header.bytes;
  const uint32_t used = queuesFor(state.header.bytes);
  while (state.sent < total) {
    if (failed_.load(std::memory_order_relaxed)) return Io::kFailed;
    const size_t queue = frameCell_ % used;
    if (written_ - credited_ >= depth() || !slotIsFree(written_) || !hasRoom(queue)) return io;
    // With several queue pairs each cell tells its own end: no later one may come on its queue
    // pair.
    writeCell(state, queue, used > 1);
    io = Io::kProgress;
  }
  if (failed_.load(std::memory_order_relaxed)) return Io::kFailed;
  bytesSent_.fetch_add(state.header.bytes, std::memory_order_relaxed);
  return Io::kDone;
}

// Only when so many are owed that the peer could run short; less goes along with the next cell.
void RdmaLink::returnCredits() {
  if (owed_ < queues_->creditBatch() || !hasRoom(0)) return;
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  const uint32_t credits = std::min(owed_, Immediate::kMaxCredits);
  request.imm_data = htonl(Immediate::make(true, credits, 0));
  request.wr.rdma.remote_addr = settings_.remoteRing;
  request.wr.rdma.rkey = settings_.remoteKeys[0];
  if (post(0, &request, false)) owed_ -= credits;
}

// An empty write: nothing happens at the peer, but without its device the request fails.
void RdmaLink::probe() {
  Queue& q = sends_[0];
  if (q.posted != q.completed && q.unsignalled == 0) return;  // one is under way
  if (q.posted - q.completed >= queues_->sendEntries(0)) return;
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  request.wr.rdma.remote_addr = settings_.remoteRing;
  request.wr.rdma.rkey = settings_.remoteKeys[0];
  post(0, &request, true);
}

void RdmaLink::flush(Deadline deadline) noexcept {
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      poll();
      bool all = true;
      for (size_t i = 0; i < sends_.size(); ++i) {
        Queue& q = sends_[i];
        if (q.unsignalled != 0 && i == 0) probe();
        all = all && q.completed == q.posted;
      }
      if (all || failed_.load() || peerLeft_.load()) return;
      for (size_t rail = 0; rail < armed_.size(); ++rail) arm(rail);
    }
    if (deadline.expired()) return;
    std::vector<pollfd> descriptors;
    for (const Rail& rail : queues_->rails()) descriptors.push_back({rail.channel->fd, POLLIN, 0});
    ::poll(descriptors.data(), descriptors.size(), std::min(deadline.remainingMs(), 20));
  }
}

// ---- receiving ----

Io RdmaLink::takeHeader(ReceiveState& state, const std::byte* cell) {
  std::memcpy(&state.got, cell, kHeader);
  if (state.got.magic != FrameHeader::kMagic) {
    (void)fail("what came is no frame");
    return Io::kFailed;
  }
  return matches(state.got, state.expected) ? Io::kProgress : Io::kMismatch;
}

Io RdmaLink::receive(ReceiveState& state) noexcept {
  std::lock_guard lock(mutex_);
  Io io = poll() ? Io::kProgress : Io::kIdle;
  const size_t cellBytes = queues_->shape().cellBytes;
  for (;;) {
    const auto slot = static_cast<uint32_t>(read_ % depth());
    // What has arrived is good even when the connection has failed since.
    if (arrived_[slot] == 0) break;
    const std::byte* cell = queues_->target(slot);
    size_t skip = 0;
    if (state.received == 0) {
      const Io head = takeHeader(state, cell);
      if (head != Io::kProgress) return head;
      skip = kHeader;
    }
    const uint64_t total = kHeader + state.got.bytes;
    const size_t bytes = std::min<uint64_t>(cellBytes, total - state.received);
    if (bytes > skip) {
      std::memcpy(state.data + (state.received + skip - kHeader), cell + skip, bytes - skip);
    }
    arrived_[slot] = 0;
    ++read_;
    ++owed_;
    state.received += bytes;
    returnCredits();
    io = Io::kProgress;
    if (state.received == total) {
      bytesReceived_.fetch_add(state.got.bytes, std::memory_order_relaxed);
      return Io::kDone;
    }
  }
  if (failed_.load(std::memory_order_relaxed)) return Io::kFailed;
  returnCredits();  // there may have been no room before
  const uint64_t now = coarseNs();
  if (io != Io::kIdle || quietSince_ == 0) {
    quietSince_ = now;
  } else if (now - quietSince_ > kQuietNs) {
    quietSince_ = now;
    probe();
  }
  return io;
}

bool RdmaLink::peek(FrameHeader& header) noexcept {
  std::lock_guard lock(mutex_);
  poll();
  const auto slot = static_cast<uint32_t>(read_ % depth());
  if (arrived_[slot] == 0) return false;
  std::memcpy(&header, queues_->target(slot), kHeader);
  return true;
}

// ---- completions ----

// True when something completed.
bool RdmaLink::poll() {
  bool any = false;
  for (size_t rail = 0; rail < armed_.size(); ++rail) any = poll(rail) || any;
  return any;
}

bool RdmaLink::poll(size_t rail) {
  std::array<ibv_wc, 16> completions;
  bool any = false, again = true;
  while (again) {
    const int count = queues_->verbs()->pollCq(
        queues_->rails()[rail].cq.get(), static_cast<int>(completions.size()), completions.data());
    if (count < 0) {
      (void)fail("the completion queue cannot be read", rail);
      return true;
    }
    for (int i = 0; i < count; ++i) onCompletion(completions[static_cast<size_t>(i)], rail);
    any = any || count > 0;
    if (count > 0) armed_[rail] = 0;  // the event that was asked for is on its way
    again = count == static_cast<int>(completions.size());
    if (count == 0 && armed_[rail] == 0 && settings_.sleepers != nullptr &&
        settings_.sleepers->load(std::memory_order_seq_cst) != 0) {
      arm(rail);
      again = true;
    }
  }
  return any;
}

// From now on the next completion makes the channel readable. What completed before must be polled.
void RdmaLink::arm(size_t index) {
  if (armed_[index] != 0) return;
  const Rail& rail = queues_->rails()[index];
  unsigned events = 0;
  while (queues_->verbs()->getCqEvent(rail.channel.get())) ++events;
  if (events != 0) queues_->verbs()->ackCqEvents(rail.cq.get(), events);
  if (queues_->verbs()->reqNotifyCq(rail.cq.get()) != 0) {
    (void)fail("completions cannot be waited for", index);
  }
  armed_[index] = 1;
}

void RdmaLink::onCompletion(const ibv_wc& completion, size_t rail) {
  if (completion.status != IBV_WC_SUCCESS) return completionError(completion, rail);
  if ((completion.wr_id & kSendMark) == 0) return onArrival(completion);
  const size_t queue = (completion.wr_id & ~kSendMark) >> kQueueShift;
  sends_[queue].completed = completion.wr_id & kRequestBits;
}

void RdmaLink::onArrival(const ibv_wc& completion) {
  const Immediate value(ntohl(completion.imm_data));
  const auto queue = static_cast<size_t>(completion.wr_id);
  credited_ += value.credits;
  if (credited_ > written_) return (void)fail("the peer returned more credits than it was owed");
  if (!value.creditsOnly) {
    const uint32_t slot = value.cell % depth();
    if (arrived_[slot] != 0) return (void)fail("the peer wrote a cell that was not free");
    arrived_[slot] = 1;
  }
  // The entry is there again before the credit for its cell can be given back.
  if (!failed_.load(std::memory_order_relaxed)) {
    if (const Status status = queues_->postReceives(queue, 1); !status.isOk()) {
      (void)fail(status.text());
    }
  }
}

void RdmaLink::completionError(const ibv_wc& completion, size_t rail) {
  if (completion.status == IBV_WC_WR_FLUSH_ERR && failed_.load()) return;
  const std::string local = fmt::format("server[{}],deviceId[{}],deviceIp[{}]", names_.local.server,
                                        names_.local.device, names_.local.ips[rail]);
  if (!failed_.load() && !peerLeft_.load()) {
    HCCL_ERROR(
        "[TaskExecStage][HeartbeatAbnormal][CQE ERROR]cqe error status[{}], time:[{}], "
        "localInfo{{{}}}, remoteIP{{{}}}",
        static_cast<int>(completion.status), wallClockText(), local, names_.remote.ips[rail]);
  }
  (void)fail(fmt::format("error cqe status[{}] ({})", static_cast<int>(completion.status),
                         ibv_wc_status_str(completion.status)),
             rail);
}

Status RdmaLink::fail(const std::string& why, size_t rail) {
  std::lock_guard lock(failureMutex_);
  if (failure_.isOk()) {
    const std::string cause =
        peerLeft_.load() ? "the peer has destroyed its communicator; " + why : why;
    failure_ = Status(
        HCCL_E_REMOTE,
        fmt::format("An error CQE occurred during operator execution. Local information: server "
                    "{}, device ID {}, device IP {}. Peer information: server {}, device ID {}, "
                    "device IP {}. Remote rank: {}. Communicator: {}. Cause: {}.",
                    names_.local.server, names_.local.device, names_.local.ips[rail],
                    names_.remote.server, names_.remote.device, names_.remote.ips[rail],
                    names_.peer, names_.communicator, cause),
        13, static_cast<int>(names_.peer));
  }
  // What the peer asks of this end fails from now on, too.
  if (!failed_.exchange(true, std::memory_order_acq_rel)) queues_->poison();
  return failure_;
}

Status RdmaLink::failure() const {
  std::lock_guard lock(failureMutex_);
  return failure_;
}

}  // namespace hccl::transport::rdma
