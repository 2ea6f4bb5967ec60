// RdmaLink: frames that are written from and into registered memory.
#include <algorithm>
#include <cstring>

#include "transport/rdma/rdma_link.h"

namespace hccl::transport::rdma {

// ---- sending ----

bool RdmaLink::mayOffer(const SendState& state) {
  const uint64_t bytes = state.header.bytes;
  if (bytes < settings_.directBytes || bytes == 0) return false;
  if (!out_.memory.acquire(*queues_, state.data, bytes)) return false;
  // Each queue pair that takes part has a piece, with which it tells its end.
  out_.queues = static_cast<uint32_t>(std::min<uint64_t>(out_.queues, piecesOf(bytes)));
  out_.posted = 0;
  return true;
}

uint64_t RdmaLink::piecesOf(uint64_t bytes) const {
  return (bytes + queues_->shape().cellBytes - 1) / queues_->shape().cellBytes;
}

void RdmaLink::onAnswer() {
  out_.answer = queues_->control().answer;
  if (out_.stage != Stage::kOffered || out_.answer.frame != framesSent_) {
    return (void)fail("the peer answered what it was not asked");
  }
  out_.stage = out_.answer.address != 0 ? Stage::kWriting : Stage::kCells;
  if (out_.stage == Stage::kCells) out_.memory.release();
}

// True when something moved. The frame is sent when nobody needs its memory any more.
bool RdmaLink::writePieces(SendState& state) {
  const uint64_t bytes = state.header.bytes;
  bool moved = false;
  while (out_.posted < bytes) {
    const uint64_t number = out_.posted / queues_->shape().cellBytes;
    const size_t queue = number % out_.queues;
    if (!sends_.hasRoom(queue) || !postPiece(queue, bytes)) return moved;
    moved = true;
  }
  for (size_t queue = 0; queue < out_.queues; ++queue) {
    if (!sends_.hasCompleted(queue, out_.last[queue])) return moved;
  }
  out_.memory.release();
  out_.stage = Stage::kCells;
  state.sent = sizeof(FrameHeader) + bytes;
  framesWritten_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool RdmaLink::postPiece(size_t queue, uint64_t bytes) {
  const size_t rail = queues_->railOf(queue);
  const uint64_t cellBytes = queues_->shape().cellBytes;
  const uint64_t length = std::min(cellBytes, bytes - out_.posted);
  ibv_sge piece{};
  piece.addr = out_.memory.address() + out_.posted;
  piece.length = static_cast<uint32_t>(length);
  piece.lkey = out_.memory.localKey(rail);
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.wr.rdma.remote_addr = out_.answer.address + out_.posted;
  request.wr.rdma.rkey = out_.answer.keys[rail];
  const bool isLast = out_.posted / cellBytes + out_.queues >= piecesOf(bytes);
  const bool isPosted = isLast ? postSignal(queue, &request, Signal::kEnd, framesSent_, true)
                               : post(queue, &request, false);
  if (!isPosted) return false;
  out_.last[queue] = sends_.posted(queue);
  out_.posted += length;
  return true;
}

// ---- receiving ----

void RdmaLink::beginOffered(const FrameHeader& header) {
  in_.isOffered = Offer::isIn(header.spare);
  in_.isAnswered = false;
  in_.queues = Offer::queues(header.spare);
  in_.ends = 0;
  if (in_.isOffered && (in_.queues == 0 || in_.queues > queues_->shape().queuePairs)) {
    (void)fail("the peer offers a frame by queue pairs that the link does not have");
  }
}

// kIdle: nothing to do yet.
Io RdmaLink::takeOffered(ReceiveState& state) {
  if (!in_.isAnswered) {
    if (hasFailed() || !sends_.hasRoom(0)) return Io::kIdle;
    in_.isAnswered = answerOffer(state);
    return in_.isAnswered ? Io::kProgress : Io::kFailed;
  }
  if (in_.ends < in_.queues) return Io::kIdle;
  in_.memory.release();
  in_.isOffered = false;
  state.received = sizeof(FrameHeader) + state.got.bytes;
  return Io::kDone;
}

// False when the link has failed.
bool RdmaLink::answerOffer(const ReceiveState& state) {
  Answer& answer = queues_->control().outgoing;
  answer = Answer();
  answer.frame = framesReceived_;
  in_.isOffered = in_.memory.acquire(*queues_, state.data, state.got.bytes);
  if (in_.isOffered) {
    answer.address = in_.memory.address();
    for (size_t i = 0; i < queues_->rails().size(); ++i) answer.keys[i] = in_.memory.remoteKey(i);
  }
  ibv_sge piece{};
  piece.addr = reinterpret_cast<uint64_t>(&answer);
  piece.length = sizeof answer;
  piece.lkey = queues_->localKey(0);
  ibv_send_wr request = makeWrite(0, queues_->controlOffset() + offsetof(Control, answer));
  request.sg_list = &piece;
  request.num_sge = 1;
  if (sizeof answer <= queues_->inlineBytes()) request.send_flags |= IBV_SEND_INLINE;
  return postSignal(0, &request, Signal::kAnswer, framesReceived_, false);
}

void RdmaLink::onEnd(uint32_t number) {
  const bool isExpected = in_.isOffered && in_.isAnswered && in_.ends < in_.queues &&
                          number == (framesReceived_ & Immediate::kNumberMask);
  if (!isExpected) return (void)fail("the peer wrote a frame that it had no place for");
  ++in_.ends;
}

}  // namespace hccl::transport::rdma
