// Who is at fault when two ranks do different things: the one that fewer others agree with. What
// they have said about the operation so far is their vote.
#include <algorithm>

#include "src/executor/execution.h"

namespace hccl::executor {
namespace {

// Votes that have not come by then do not count.
constexpr uint64_t kVotingNs = 200'000'000;

bool isSame(const Contact& a, const Contact& b) {
  return a.sequence == b.sequence && a.signature == b.signature && a.count == b.count;
}

}  // namespace

Execution::Outcome Execution::suspect(uint32_t rank, const Contact& mine, const Contact& theirs) {
  Peer& peer = context_.peer(rank);
  peer.differedIn = launch_->sequence + 1;
  peer.saidSequence = theirs.sequence;
  peer.saidSignature = theirs.signature;
  peer.saidCount = theirs.count;
  if (!suspicion_.isRaised) suspicion_ = {true, rank, monotonicNs(), mine, theirs};
  return Outcome::kIdle;
}

// What a rank has said about this operation; false when it has said nothing yet.
bool Execution::voteOf(uint32_t rank, Contact& contact) const {
  const Peer& peer = context_.peer(rank);
  if (peer.agreedIn == launch_->sequence + 1) {
    contact = suspicion_.mine;
    return true;
  }
  if (differs(peer)) {
    contact = {peer.saidSequence, peer.saidSignature, peer.saidCount};
    return true;
  }
  const auto& direct = plan_->directPeers;
  if (std::find(direct.begin(), direct.end(), rank) == direct.end()) {
    return contactOf(rank, contact) || announcedBy(rank, contact);
  }
  const transport::EntryLine& entry = peer.direct->theirs->entry[peer.operations & 1];
  if (entry.ordinal.load(std::memory_order_acquire) < peer.operations) return false;
  contact = {entry.sequence, entry.signature, entry.count};
  return true;
}

// True when the verdict is in. With one vote each the higher rank is named: the lower ones are the
// measure.
bool Execution::judgeSuspicion() {
  uint32_t withMe = 1;
  uint32_t withThem = 1;
  for (uint32_t rank = 0; rank < context_.rankCount(); ++rank) {
    Contact vote;
    if (rank == context_.rank() || rank == suspicion_.rank || !voteOf(rank, vote)) continue;
    if (isSame(vote, suspicion_.mine)) ++withMe;
    if (isSame(vote, suspicion_.theirs)) ++withThem;
  }
  const bool decided = std::max(withMe, withThem) * 2 > context_.rankCount();
  if (!decided && monotonicNs() - suspicion_.sinceNs < kVotingNs) return false;
  uint32_t culprit = std::max(context_.rank(), suspicion_.rank);
  if (withMe != withThem) culprit = withMe > withThem ? suspicion_.rank : context_.rank();
  status_ = mismatchError(context_.name().c_str(), context_.rank(), suspicion_.rank,
                          suspicion_.mine, suspicion_.theirs, static_cast<int>(culprit));
  return true;
}

}  // namespace hccl::executor
