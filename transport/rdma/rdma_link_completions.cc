// RdmaLink: what the completion queues tell.
#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "transport/rdma/rdma_link.h"

namespace hccl::transport::rdma {

// True when something completed.
bool RdmaLink::poll() {
  bool any = false;
  for (size_t rail = 0; rail < armed_.size(); ++rail) any = poll(rail) || any;
  // After the queues: who has armed them looks once more.
  return settings_.flags ? lookAtFlags() || any : any;
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
  if (settings_.flags) announceSleep();
}

void RdmaLink::onCompletion(const ibv_wc& completion, size_t rail) {
  if (completion.status != IBV_WC_SUCCESS) return failure_.onError(completion, rail);
  if (SendQueues::isSend(completion)) return sends_.onCompletion(completion);
  onArrival(completion);
}

void RdmaLink::onArrival(const ibv_wc& completion) {
  const Immediate value(ntohl(completion.imm_data));
  const auto queue = static_cast<size_t>(completion.wr_id);
  isAwaitingWake_ = false;
  onCredits(value.returned);
  switch (value.kind) {
    case Signal::kCell:
      onCell(value.number, completion.byte_len);
      break;
    case Signal::kCredits:
      break;
    case Signal::kAnswer:
      onAnswer();
      break;
    case Signal::kEnd:
      onEnd(value.number);
      break;
  }
  // The entry is there again before the credit for its cell can be given back.
  if (hasFailed()) return;
  if (const Status status = queues_->postReceives(queue, 1); !status.isOk()) {
    (void)fail(status.text());
  }
}

// The low bits of how many cells the peer has given back; what is overtaken tells nothing new.
void RdmaLink::onCredits(uint32_t returned) {
  static_assert(2 * kMaxDepth <= Immediate::kCreditMask, "news and old news can be told apart");
  const uint32_t more = (returned - static_cast<uint32_t>(credited_)) & Immediate::kCreditMask;
  if (more <= Immediate::kCreditMask / 2) onCreditsUpTo(credited_ + more);
}

void RdmaLink::onCreditsUpTo(uint64_t total) {
  credited_ = std::max(credited_, total);
  if (credited_ > written_) (void)fail("the peer returned more credits than it was owed");
}

void RdmaLink::onCell(uint32_t number, uint32_t bytes) {
  const uint32_t slot = number % depth();
  lengths_[slot] = bytes;
  if (arrived_[slot] != 0) return (void)fail("the peer wrote a cell that was not free");
  arrived_[slot] = 1;
}

}  // namespace hccl::transport::rdma
