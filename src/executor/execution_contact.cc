// The contacts of Execution: the entries by which the two sides of a pair meet in an operation, and
// the signals that follow them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/prefetch.h"
#include "src/executor/execution.h"
#include "src/executor/mismatch.h"
#include "src/fault/ei_errors.h"

namespace hccl::executor {
namespace {

using plan::BufferShape;
using plan::Step;
using plan::StepKind;
using transport::BufferRef;

// Flags of the buffer references in an entry.
constexpr uint64_t kStagedBit = 1ULL << 62;
constexpr uint64_t kPresentBit = 1ULL << 61;
constexpr uint64_t kInlinedBit = 1ULL << 60;
// In the entry's slot size: the entry is the first open signal, too.
constexpr uint64_t kOpenedBit = 1ULL << 63;
constexpr uint64_t kLine = 64;
constexpr uint64_t kPrefetchBytes = 4 * kLine;  // of a pair

}  // namespace

// Peers that do no more than read this rank's input may get it with the entry. It lies in two slots
// used in turn, as the entry does, which is safe where the peers are waited for at least once: see
// docs/architecture.md.
bool Execution::canInline() const {
  if (!plan_->inputRemote || plan_->outputRemote || plan_->scratchBlocks != 0 ||
      plan_->pairRelative) {
    return false;
  }
  return std::all_of(plan_->directPeers.begin(), plan_->directPeers.end(), [&](uint32_t r) {
    return std::any_of(plan_->steps.begin(), plan_->steps.end(), [&](const Step& step) {
      return step.kind == StepKind::kAwaitOpen && step.peer == r;
    });
  });
}

// A plan that begins with opening what is there already gives these signals with its entries.
void Execution::openAtOnce() {
  for (const uint32_t r : plan_->directPeers) context_.peer(r).isOpenGiven = false;
  if (plan_->laneSteps.empty()) return;
  for (const uint32_t index : plan_->laneSteps[0]) {
    const Step& step = plan_->steps[index];
    if (step.deps != 0) return;
    if (step.kind == StepKind::kStageIn && !inputStaged_) continue;
    if (step.kind != StepKind::kOpen) return;
    context_.peer(step.peer).isOpenGiven = true;
  }
}

void Execution::publishEntries() {
  const plan::Geometry& g = launch_->geometry;
  openAtOnce();
  for (uint32_t r : plan_->messagePeers) {
    context_.peer(r).framesSent = 0;
    context_.peer(r).framesReceived = 0;
  }
  for (uint32_t r : plan_->directPeers) {
    Peer& peer = context_.peer(r);
    peer.entrySeen = false;
    ++peer.operations;
    transport::EntryLine& entry = peer.direct->mine->entry[peer.operations & 1];
    const auto ref = [&](const void* p, bool isInput = false) {
      uint64_t offset = 0;
      if (peer.direct->sameProcess) return BufferRef::address(p);
      if (inputPlain_ && isInput) return BufferRef::plain(p);
      return runtime::Arena::find(p, 1, &offset) != nullptr ? BufferRef::offset(offset)
                                                            : uint64_t{0};
    };
    const auto window = [&](bool output) -> uint64_t {
      const bool staged = output ? outputStaged_ : inputStaged_;
      const BufferShape shape = output ? plan_->outputShape : plan_->inputShape;
      const std::byte* user = output ? launch_->output : launch_->input;
      if (staged) {
        uint64_t place = output ? outputWindow_ : 0;
        if (plan_->pairRelative) place += g.slotOffset(shape, r, 0) * g.elementSize;
        return ref(base_ + place) | kStagedBit | kPresentBit;
      }
      if (user == nullptr) return 0;
      if (plan_->pairRelative) user += g.userOffset(output, shape, r, 0) * g.elementSize;
      return ref(user, !output) | kPresentBit;
    };
    entry.sequence = launch_->sequence;
    entry.signature = launch_->signature;
    entry.count = launch_->countTo(r);
    peer.isInlinedTo = inputInlined_;
    if (inputInlined_) {
      std::memcpy(peer.direct->mine->inlined[peer.operations & 1], launch_->input,
                  launch_->inputBytes);
      entry.input = kInlinedBit | kPresentBit;
    } else {
      entry.input = plan_->inputRemote ? window(false) : 0;
    }
    entry.output = plan_->outputRemote ? window(true) : 0;
    entry.scratch = slotBytes_ > 0 ? ref(base_ + scratch_) | kStagedBit | kPresentBit : 0;
    entry.slotBytes = slotBytes_;
    if (peer.isOpenGiven) {
      entry.slotBytes |= kOpenedBit;
      ++peer.opensSent;
    }
    entry.ordinal.store(peer.operations, std::memory_order_release);
    ringSoon(peer);
  }
}

Execution::Outcome Execution::signalStep(const Step& step, uint64_t c) {
  if (!contactHasData(step, c)) return Outcome::kDone;
  Peer& peer = context_.peer(step.peer);
  if (step.kind == StepKind::kClose && peer.isInlinedFrom) return Outcome::kDone;
  if (step.kind == StepKind::kOpen) {
    if (std::exchange(peer.isOpenGiven, false)) return Outcome::kDone;
    peer.direct->mine->open.value.store(++peer.opensSent, std::memory_order_release);
  } else {
    peer.direct->mine->close.value.store(++peer.closesSent, std::memory_order_release);
  }
  ringSoon(peer);
  return Outcome::kDone;
}

Execution::Outcome Execution::awaitStep(const Step& step, uint64_t c) {
  if (!contactHasData(step, c)) return Outcome::kDone;
  Peer& peer = context_.peer(step.peer);
  if (!peer.entrySeen) {
    const Outcome outcome = readEntry(peer);
    if (outcome != Outcome::kDone) {
      if (inputInlined_) prefetchInlined(peer);
      describeWait(step);
      return outcome;
    }
  }
  const bool open = step.kind == StepKind::kAwaitOpen;
  if (!open && peer.isInlinedTo) return Outcome::kDone;
  const transport::SignalLine& line = open ? peer.direct->theirs->open : peer.direct->theirs->close;
  uint64_t& seen = open ? peer.opensSeen : peer.closesSeen;
  if (open && std::exchange(peer.isOpenSeen, false)) {
    ++seen;
    return Outcome::kDone;
  }
  if (line.value.load(std::memory_order_acquire) <= seen) {
    describeWait(step);
    return Outcome::kIdle;
  }
  ++seen;
  return Outcome::kDone;
}

// To look whether the peer sleeps, the signal has to be out; that is awaited when there is nothing
// else to do.
void Execution::ringSoon(Peer& peer) {
  if (std::exchange(peer.isRingDue, true)) return;
  ringsDue_.push_back(&peer);
}

void Execution::ringNow() {
  for (Peer* peer : ringsDue_) {
    peer->isRingDue = false;
    peer->direct->ring();
  }
  ringsDue_.clear();
}

// The lines of the next entry, while this operation's last signals are still under way.
void Execution::prepareNextEntries() const {
  for (const uint32_t r : plan_->directPeers) {
    const Peer& peer = context_.peer(r);
    const uint64_t next = (peer.operations + 1) & 1;
    prefetchForWriting(&peer.direct->mine->entry[next]);
    if (!inputInlined_) continue;
    for (uint64_t i = 0; i < std::min(launch_->inputBytes, kPrefetchBytes); i += kLine) {
      prefetchForWriting(peer.direct->mine->inlined[next] + i);
    }
  }
}

// What comes with the entry is fetched at the same time as the entry.
void Execution::prefetchInlined(const Peer& peer) const {
  const std::byte* from = peer.direct->theirs->inlined[peer.operations & 1];
  for (uint64_t i = 0; i < std::min(launch_->inputBytes, kPrefetchBytes); i += kLine) {
    __builtin_prefetch(from + i);
  }
}

// The pair's first contact: compares the operation and learns where the peer's windows are.
Execution::Outcome Execution::readEntry(Peer& peer) {
  if (differs(peer)) return Outcome::kIdle;
  const transport::EntryLine& entry = peer.direct->theirs->entry[peer.operations & 1];
  if (entry.ordinal.load(std::memory_order_acquire) < peer.operations) return Outcome::kIdle;
  if (entry.signature != launch_->signature || entry.sequence != launch_->sequence ||
      entry.count != launch_->countFrom(peer.rank)) {
    return suspect(peer.rank,
                   {launch_->sequence, launch_->signature, launch_->countFrom(peer.rank)},
                   {entry.sequence, entry.signature, entry.count});
  }
  const plan::Geometry& g = launch_->geometry;
  peer.slotBytes = entry.slotBytes & ~kOpenedBit;
  peer.isOpenSeen = (entry.slotBytes & kOpenedBit) != 0;
  const auto resolve = [&](uint64_t ref, bool& staged, bool output) -> std::byte* {
    staged = (ref & kStagedBit) != 0;
    if ((ref & kPresentBit) == 0) return nullptr;
    uint64_t bytes = peer.slotBytes;
    if (!staged) {
      // What the peer's buffer holds, as far as this rank may touch it.
      const BufferShape shape = output ? plan_->outputShape : plan_->inputShape;
      uint64_t elements = g.total;
      if (plan_->pairRelative) {
        elements = output ? launch_->countTo(peer.rank) : launch_->countFrom(peer.rank);
      } else if (g.inputCounts != nullptr) {
        elements = g.inputCounts[peer.rank];  // varying blocks: full windows are staged
      } else if (!g.vector) {
        elements *= windowBlocks(shape);
      }
      bytes = elements * g.elementSize;
    }
    if ((ref & kInlinedBit) != 0) {
      if (output || staged || bytes > transport::PairBoard::kInlineBytes) return nullptr;
      return const_cast<std::byte*>(peer.direct->theirs->inlined[peer.operations & 1]);
    }
    return peer.direct->resolve(ref & ~(kStagedBit | kPresentBit), bytes);
  };
  bool unused = false;
  peer.isInlinedFrom = (entry.input & kInlinedBit) != 0;
  peer.plainInput = 0;
  if ((entry.input & BufferRef::kPlainBit) != 0) {
    // Whatever the address is: a read that does not find memory there fails.
    peer.plainInput = entry.input & ~(BufferRef::kPlainBit | kPresentBit);
    peer.input = reinterpret_cast<std::byte*>(peer.plainInput);
    peer.inputStaged = false;
  } else {
    peer.input = resolve(entry.input, peer.inputStaged, false);
  }
  peer.output = resolve(entry.output, peer.outputStaged, true);
  peer.scratch = resolve(entry.scratch, unused, true);
  if ((entry.input != 0 && peer.input == nullptr) ||
      (entry.output != 0 && peer.output == nullptr) ||
      (entry.scratch != 0 && peer.scratch == nullptr)) {
    return failWith(Status(HCCL_E_INTERNAL,
                           fmt::format("rank {} named memory outside of its arena", peer.rank), 0,
                           static_cast<int>(peer.rank)));
  }
  peer.entrySeen = true;
  peer.agreedIn = launch_->sequence + 1;
  return Outcome::kDone;
}

}  // namespace hccl::executor
