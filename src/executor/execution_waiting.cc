// The waiting half of Execution: peers that left, deadlines, and ranks that call though nobody
// expects them.
#include <fmt/format.h>

#include <algorithm>

#include "src/executor/execution.h"
#include "src/executor/mismatch.h"
#include "src/fault/ei_errors.h"

namespace hccl::executor {
namespace {

// A wait of this many nanoseconds is unusual: ranks that nobody expects may be calling.
constexpr uint64_t kLookForStrangersNs = 10'000'000;
constexpr uint32_t kStrangersAtOnce = 64;
// And after this, what this rank waits in is told to those that cannot see it.
constexpr uint64_t kAnnounceNs = 300'000'000;

}  // namespace

// Ranks that differ in the root may not meet at all: each waits for its own root. So who waits long
// looks at what the ranks outside of its plan have for this operation.
void Execution::lookForStrangers() {
  if (context_.links() == nullptr || monotonicNs() - waitingSince_ < kLookForStrangersNs) return;
  if (!hasAnnounced_ && monotonicNs() - waitingSince_ > kAnnounceNs) {
    hasAnnounced_ = true;
    context_.links()->announce({launch_->sequence, launch_->signature, launch_->agreedCount});
  }
  const uint32_t looks = std::min(context_.rankCount(), kStrangersAtOnce);
  for (uint32_t i = 0; i < looks && !suspicion_.isRaised; ++i) {
    stranger_ = (stranger_ + 1) % context_.rankCount();
    Contact theirs{};
    const bool isKnown = contactOf(stranger_, theirs) || announcedBy(stranger_, theirs);
    if (!isKnown || theirs.sequence != launch_->sequence ||
        theirs.signature == launch_->signature) {
      continue;
    }
    (void)suspect(stranger_, {launch_->sequence, launch_->signature, launch_->countFrom(stranger_)},
                  theirs);
  }
}

// What a rank outside of the plan has said about an operation to come. False when it said nothing.
bool Execution::contactOf(uint32_t rank, Contact& contact) const {
  const auto in = [rank](const std::vector<uint32_t>& ranks) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  };
  if (rank == context_.rank() || in(plan_->directPeers) || in(plan_->messagePeers)) return false;
  if (context_.links() == nullptr) return false;
  transport::Link* link = context_.links()->find(rank, transport::LinkKind::kCollective);
  if (link == nullptr) return false;
  if (link->direct != nullptr) {
    const uint64_t next = context_.peer(rank).operations + 1;
    const transport::EntryLine& entry = link->direct->theirs->entry[next & 1];
    if (entry.ordinal.load(std::memory_order_acquire) != next) return false;
    contact = {entry.sequence, entry.signature, entry.count};
    return true;
  }
  transport::FrameHeader header;
  if (!link->message->peek(header)) return false;
  contact = {header.sequence, header.signature, header.count};
  return true;
}

// What a rank that waits, too, has told about this operation.
bool Execution::announcedBy(uint32_t rank, Contact& contact) const {
  transport::Announcement theirs;
  if (rank == context_.rank() || context_.links() == nullptr || plan_->pairRelative ||
      !context_.links()->announced(rank, theirs) || theirs.sequence != launch_->sequence) {
    return false;
  }
  contact = {theirs.sequence, theirs.signature, theirs.count};
  return true;
}

// A peer that destroyed its communicator gives no more signals. Its last ones may have come with
// the news, so the news counts when nothing has moved since.
bool Execution::peerLeft() {
  if (waitingStep_ == nullptr || context_.links() == nullptr ||
      !context_.links()->hasLeft(waitingStep_->peer)) {
    return false;
  }
  const bool again = leftPeer_ == static_cast<int64_t>(waitingStep_->peer);
  leftPeer_ = waitingStep_->peer;
  return again;
}

// True until the departures so far have been looked at; twice when they concern this wait.
bool Execution::newsOfDepartures() {
  if (context_.links() == nullptr || waitingStep_ == nullptr) return false;
  const uint64_t departures = context_.links()->departures();
  if (departures == departures_) return false;
  if (!context_.links()->hasLeft(waitingStep_->peer)) departures_ = departures;
  return true;
}

Status Execution::peerLeftError() const {
  return eiError(Ei::kMemoryCopy, HCCL_E_REMOTE,
                 {std::to_string(waitingStep_->peer),
                  "the peer has destroyed its communicator while this operation waits for it",
                  fmt::format("{} sequence {}", plan::opName(launch_->op.type), launch_->sequence),
                  context_.name()},
                 static_cast<int>(waitingStep_->peer));
}

bool Execution::timedOut() {
  const double limit = context_.execTimeout();
  const uint64_t now = monotonicNs();
  if (waitingSince_ == 0) waitingSince_ = now;
  return limit > 0 && static_cast<double>(now - waitingSince_) * 1e-9 > limit;
}

// Which of the ranks that this one works with have reached the operation.
std::string Execution::arrivals() const {
  std::string here, missing;
  const auto sort = [&](const std::vector<uint32_t>& ranks) {
    for (const uint32_t r : ranks) {
      std::string& list = context_.peer(r).agreedIn == launch_->sequence + 1 ? here : missing;
      list += fmt::format("{}{}", list.empty() ? "" : ",", r);
    }
  };
  sort(plan_->directPeers);
  sort(plan_->messagePeers);
  return fmt::format("arrived ranks [{}], not arrived [{}]", here, missing);
}

Status Execution::timeoutError() const {
  const std::string peer = waitingStep_ != nullptr ? std::to_string(waitingStep_->peer) : "unknown";
  const std::string task =
      waitingStep_ != nullptr
          ? fmt::format("step {} of round {}, waited {:.2f} s without progress, {}",
                        plan::stepName(waitingStep_->kind), waitingStep_->round,
                        static_cast<double>(monotonicNs() - waitingSince_) * 1e-9, arrivals())
          : "not started";
  const std::string op =
      fmt::format("{} sequence {} count {} algorithm {}", plan::opName(launch_->op.type),
                  launch_->sequence, launch_->agreedCount, plan_->name);
  return eiError(Ei::kExecTimeout, HCCL_E_TIMEOUT, {peer, task, op, context_.name()},
                 waitingStep_ != nullptr ? static_cast<int>(waitingStep_->peer) : kNoRank);
}

}  // namespace hccl::executor
