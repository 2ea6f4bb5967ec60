// RdmaLink: flags in memory in place of the completions of arrivals. The peer's device must place
// the bytes of a queue pair in the order in which they were sent.
#include <arpa/inet.h>

#include <atomic>

#include "transport/rdma/rdma_link.h"

namespace hccl::transport::rdma {
namespace {

uint64_t load(uint64_t& word) {
  return std::atomic_ref<uint64_t>(word).load(std::memory_order_acquire);
}

}  // namespace

// ---- what the peer is told ----

bool RdmaLink::postWord(size_t queue, uint64_t offset, uint64_t value, bool signal) {
  ibv_sge piece{};
  piece.addr = reinterpret_cast<uint64_t>(&value);
  piece.length = sizeof value;
  ibv_send_wr request = makeWrite(queue, queues_->controlOffset() + offset);
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_INLINE;
  return post(queue, &request, signal);
}

bool RdmaLink::postFlagged(size_t queue, ibv_send_wr* request, Signal kind, uint64_t number,
                           bool signal) {
  switch (kind) {
    case Signal::kCell:  // the flag is its last word
      if (!post(queue, request, signal)) return false;
      returned_ = read_;
      break;
    case Signal::kCredits:
      if (!postWord(queue, offsetof(Control, returned), read_, signal)) return false;
      returned_ = read_;
      break;
    case Signal::kAnswer:  // ends with the number of the frame
      if (!post(queue, request, signal)) return false;
      break;
    case Signal::kEnd: {
      const uint64_t place = offsetof(Control, ends) + queue * sizeof(uint64_t);
      if (!post(queue, request, false) || !postWord(queue, place, number, signal)) return false;
      break;
    }
  }
  return wakePeer(queue);
}

// A peer that is about to sleep is woken by a completion, behind the first flag that comes after
// its announcement.
bool RdmaLink::wakePeer(size_t queue) {
  const uint64_t sleeps = load(queues_->control().sleeps);
  if (sleeps == peerSleeps_ || !sends_.hasAnyRoom(queue)) return true;
  peerSleeps_ = sleeps;
  ibv_send_wr request = makeWrite(queue, 0);
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.imm_data = htonl(Immediate::make(Signal::kCredits, returned_, 0));
  return post(queue, &request, true);
}

// The next one only when this one has been answered: a wake-up needs a receive entry.
void RdmaLink::announceSleep() {
  if (isAwaitingWake_ || hasFailed() || !sends_.hasAnyRoom(0)) return;
  isAwaitingWake_ = postWord(0, offsetof(Control, sleeps), ++sleeps_, false);
}

// ---- what the peer has told ----

bool RdmaLink::lookAtFlags() {
  Control& control = queues_->control();
  bool any = lookAtCells();
  const uint64_t credited = credited_;
  onCreditsUpTo(load(control.returned));
  any = any || credited != credited_;
  if (out_.stage == Stage::kOffered && load(control.answer.frame) == framesSent_) {
    onAnswer();
    any = true;
  }
  if (in_.isOffered && in_.isAnswered) {
    const uint32_t ends = in_.ends;
    in_.ends = 0;
    for (uint32_t queue = 0; queue < in_.queues; ++queue) {
      if (load(control.ends[queue]) == framesReceived_) ++in_.ends;
    }
    any = any || in_.ends != ends;
  }
  return any;
}

bool RdmaLink::lookAtCells() {
  bool any = false;
  while (seen_ - read_ < depth()) {
    const auto slot = static_cast<uint32_t>(seen_ % depth());
    const CellFlag flag(load(*reinterpret_cast<uint64_t*>(queues_->target(slot) + cellRoom())));
    if (!flag.isOf(seen_)) break;
    if (flag.bytes > cellRoom()) {
      (void)fail("the peer wrote a cell that is larger than cells are");
      break;
    }
    onCell(slot, flag.bytes);
    onCredits(flag.returned);
    ++seen_;
    any = true;
  }
  return any;
}

}  // namespace hccl::transport::rdma
