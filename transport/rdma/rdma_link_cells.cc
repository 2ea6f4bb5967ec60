// RdmaLink: frames through the ring of cells, and the requests that are posted.
#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "transport/rdma/rdma_link.h"

namespace hccl::transport::rdma {
namespace {

constexpr size_t kHeader = sizeof(FrameHeader);
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

// ---- sending ----

// Each queue pair that takes part carries at least the threshold.
uint32_t RdmaLink::queuesFor(uint64_t bytes) const {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(bytes / settings_.stripeBytes, 1, queues_->shape().queuePairs));
}

// The cell before in the same place has been sent (a lost packet may be sent again until then).
bool RdmaLink::slotIsFree(uint64_t cell) const {
  const Slot& slot = slots_[cell % depth()];
  return sends_.hasCompleted(slot.queue, slot.request);
}

void RdmaLink::beginFrame(const SendState& state) {
  ++framesSent_;
  out_.cells = 0;
  out_.queues = queuesFor(state.header.bytes);
  if (mayOffer(state)) out_.stage = Stage::kOffered;
}

bool RdmaLink::post(size_t queue, ibv_send_wr* request, bool signal) {
  const int error = sends_.post(queue, request, signal);
  if (error == 0) return true;
  (void)fail(fmt::format("a work request cannot be posted: {}", std::strerror(error)),
             queues_->railOf(queue));
  return false;
}

// A write to the place that is `offset` behind the peer's first cell.
ibv_send_wr RdmaLink::makeWrite(size_t queue, uint64_t offset) const {
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  request.wr.rdma.remote_addr = settings_.remoteRing + offset;
  request.wr.rdma.rkey = settings_.remoteKeys[queues_->railOf(queue)];
  return request;
}

// Posts a write that the peer's CPU is told about. Credits go along.
bool RdmaLink::postSignal(size_t queue, ibv_send_wr* request, Signal kind, uint64_t number,
                          bool signal) {
  if (settings_.flags) return postFlagged(queue, request, kind, number, signal);
  request->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request->imm_data = htonl(Immediate::make(kind, read_, number));
  if (!post(queue, request, signal)) return false;
  returned_ = read_;
  return true;
}

// False when there is no room, or the link has failed.
bool RdmaLink::writeCell(SendState& state) {
  const size_t queue = state.sent == 0 ? 0 : out_.cells % out_.queues;
  if (written_ - credited_ >= depth() || !slotIsFree(written_) || !sends_.hasRoom(queue)) {
    return false;
  }
  if (state.sent == 0) beginFrame(state);
  const auto slot = static_cast<uint32_t>(written_ % depth());
  const bool isOffered = state.sent == 0 && out_.stage == Stage::kOffered;
  const uint64_t left = isOffered ? kHeader : kHeader + state.header.bytes - state.sent;
  const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(cellRoom(), left));
  std::byte* cell = queues_->source(slot) + startInCell(bytes);
  std::byte* to = cell;
  if (state.sent == 0) {
    FrameHeader header = state.header;
    if (isOffered) header.spare = Offer::make(out_.queues);
    std::memcpy(to, &header, kHeader);
    to += kHeader;
  }
  const size_t payload = bytes - static_cast<size_t>(to - cell);
  if (payload != 0) {
    const size_t from = state.sent == 0 ? 0 : state.sent - kHeader;
    std::memcpy(to, state.data + from, payload);
  }
  ibv_sge piece{};
  piece.addr = reinterpret_cast<uint64_t>(cell);
  piece.length = bytes;
  piece.lkey = queues_->localKey(queue);
  if (settings_.flags) {
    const uint64_t flag = CellFlag::make(written_, bytes, read_);
    std::memcpy(cell + bytes, &flag, sizeof flag);
    piece.length += sizeof flag;
  }
  ibv_send_wr request =
      makeWrite(queue, uint64_t{slot} * queues_->shape().cellBytes + startInCell(bytes));
  request.sg_list = &piece;
  request.num_sge = 1;
  const bool isInline = piece.length <= queues_->inlineBytes();
  if (isInline) request.send_flags |= IBV_SEND_INLINE;
  // With several queue pairs each cell tells its own end: no later one may come on its queue pair.
  if (!postSignal(queue, &request, Signal::kCell, written_, out_.queues > 1)) return false;
  slots_[slot] = {static_cast<uint32_t>(queue), isInline ? 0 : sends_.posted(queue)};
  ++written_;
  ++out_.cells;
  state.sent += bytes;
  return true;
}

// Only when so many are owed that the peer could run short; less goes along with the next cell.
void RdmaLink::returnCredits() {
  if (read_ - returned_ < queues_->creditBatch() || !sends_.hasRoom(0)) return;
  ibv_send_wr request = makeWrite(0, 0);
  postSignal(0, &request, Signal::kCredits, 0, false);
}

// An empty write: nothing happens at the peer, but without its device the request fails.
void RdmaLink::probe() {
  const bool underWay = !sends_.isIdle(0) && !sends_.endsSilently(0);
  if (underWay || !sends_.hasAnyRoom(0)) return;
  ibv_send_wr request = makeWrite(0, 0);
  post(0, &request, true);
}

void RdmaLink::probeWhenQuiet(Io io) {
  const uint64_t now = coarseNs();
  if (io != Io::kIdle || quietSince_ == 0) {
    quietSince_ = now;
  } else if (now - quietSince_ > kQuietNs) {
    quietSince_ = now;
    probe();
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

// kIdle: the next cell is not there.
Io RdmaLink::takeCell(ReceiveState& state) {
  const auto slot = static_cast<uint32_t>(read_ % depth());
  if (arrived_[slot] == 0) return Io::kIdle;
  const std::byte* cell = arrivedCell(slot);
  size_t skip = 0;
  if (state.received == 0) {
    const Io head = takeHeader(state, cell);
    if (head != Io::kProgress) return head;
    skip = kHeader;
    ++framesReceived_;
    beginOffered(state.got);
    if (hasFailed() && in_.isOffered) return Io::kFailed;
  }
  const uint64_t total = kHeader + state.got.bytes;
  const size_t bytes =
      in_.isOffered ? kHeader : std::min<uint64_t>(cellRoom(), total - state.received);
  if (bytes > skip) {
    std::memcpy(state.data + (state.received + skip - kHeader), cell + skip, bytes - skip);
  }
  arrived_[slot] = 0;
  ++read_;
  state.received += bytes;
  returnCredits();
  return state.received == total ? Io::kDone : Io::kProgress;
}

}  // namespace hccl::transport::rdma
