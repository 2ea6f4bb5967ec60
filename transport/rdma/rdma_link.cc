#include "transport/rdma/rdma_link.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/runtime/engine.h"

namespace hccl::transport::rdma {
namespace {

constexpr size_t kHeader = sizeof(FrameHeader);

}  // namespace

RdmaLink::RdmaLink(std::shared_ptr<QueueSet> queues, Settings settings, Names names)
    : queues_(std::move(queues)),
      settings_(std::move(settings)),
      failure_(queues_, std::move(names)),
      sends_(*queues_) {
  slots_.resize(depth());
  arrived_.resize(depth());
  lengths_.resize(depth());
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
  abandon();
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
  for (size_t i = rail; i < queues_->shape().queuePairs; i += queues_->rails().size()) {
    interest.queuePairs.push_back(queues_->qp(i));
  }
  // Nothing more comes of a peer that has left: what befalls the connection is no error.
  const auto trouble = [this, rail](const Status& status) {
    return failure_.peerLeft() ? Status() : fail(status.text(), rail);
  };
  return deviceUsers_[rail] = own.device->addUser(std::move(interest), trouble, std::move(report));
}

Io RdmaLink::send(SendState& state) noexcept {
  std::lock_guard lock(mutex_);
  Io io = poll() ? Io::kProgress : Io::kIdle;
  const uint64_t total = kHeader + state.header.bytes;
  while (state.sent < total) {
    if (hasFailed()) return Io::kFailed;
    if (out_.stage == Stage::kOffered) return io;  // until the answer comes
    if (!(out_.stage == Stage::kWriting ? writePieces(state) : writeCell(state))) {
      return hasFailed() ? Io::kFailed : io;
    }
    io = Io::kProgress;
  }
  bytesSent_.fetch_add(state.header.bytes, std::memory_order_relaxed);
  return Io::kDone;
}

Io RdmaLink::receive(ReceiveState& state) noexcept {
  std::lock_guard lock(mutex_);
  Io io = poll() ? Io::kProgress : Io::kIdle;
  for (;;) {
    // What has arrived is good even when the connection has failed since.
    const Io one = in_.isOffered ? takeOffered(state) : takeCell(state);
    if (one == Io::kIdle) break;
    if (one == Io::kDone) {
      bytesReceived_.fetch_add(state.got.bytes, std::memory_order_relaxed);
      return one;
    }
    if (one != Io::kProgress) return one;
    io = one;
  }
  if (hasFailed()) return Io::kFailed;
  returnCredits();  // there may have been no room before
  probeWhenQuiet(io);
  return io;
}

bool RdmaLink::peek(FrameHeader& header) noexcept {
  std::lock_guard lock(mutex_);
  poll();
  const auto slot = static_cast<uint32_t>(read_ % depth());
  if (arrived_[slot] == 0) return false;
  std::memcpy(&header, arrivedCell(slot), kHeader);
  return true;
}

void RdmaLink::flush(Deadline deadline) noexcept {
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      poll();
      bool all = true;
      for (size_t i = 0; i < queues_->shape().queuePairs; ++i) {
        if (i == 0 && sends_.endsSilently(i)) probe();
        all = all && sends_.isIdle(i);
      }
      if (all || hasFailed() || failure_.peerLeft()) return;
      for (size_t rail = 0; rail < armed_.size(); ++rail) arm(rail);
    }
    if (deadline.expired()) return;
    std::vector<pollfd> descriptors;
    for (const Rail& rail : queues_->rails()) descriptors.push_back({rail.channel->fd, POLLIN, 0});
    ::poll(descriptors.data(), descriptors.size(), std::min(deadline.remainingMs(), 20));
  }
}

// What the devices may still touch is held until this object ends; without queue pairs they do not.
void RdmaLink::abandon() noexcept {
  std::lock_guard lock(mutex_);
  if (out_.stage != Stage::kWriting && !in_.memory.isHeld()) return;
  (void)fail("the communicator has failed or ended in the middle of a frame");
}

}  // namespace hccl::transport::rdma
