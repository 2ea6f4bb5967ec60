#include "src/executor/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/executor/mismatch.h"
#include "src/fault/ei_errors.h"
#include "src/reduce/reduce.h"
#include "src/runtime/devices.h"

namespace hccl::executor {
namespace {

using plan::Buffer;
using plan::BufferShape;
using plan::Ref;
using plan::Step;
using plan::StepKind;
using runtime::Poll;
using transport::PairBoard;

// Outputs of operations beyond the last-level cache are written around it; less is never beyond.
constexpr uint64_t kLeastStreamed = 4ULL << 20;
// Short waits do not look at the clock. A sleeping thread polls some fifty times a second: looks
// must not be rarer than a few of its polls.
constexpr uint64_t kPollsBeforeClockReads = 32;
constexpr uint64_t kPollsBetweenClockReads = 8;
// Steps of more data are long enough for a sleeping peer to be woken before.
constexpr uint64_t kRingBytes = 16ULL << 10;

}  // namespace

void Execution::begin(const Launch& launch) {
  launch_ = &launch;
  if (plan_ != launch.plan) usePlan(launch.plan);
  for (LaneState& lane : lanes_) {
    lane.iteration = 0;
    lane.position = 0;
    lane.piece = 0;
    lane.frameActive = false;
    lane.pieceSent = false;
  }
  idlePolls_ = 0;
  waitingSince_ = 0;
  brokenLink_ = BrokenLink();
  suspicion_ = Suspicion();
  leftPeer_ = -1;
  departures_ = 0;
  hasAnnounced_ = false;
  waitingStep_ = nullptr;
  streaming_ = launch.outputBytes >= kLeastStreamed && exceedsCache();
  status_ = prepare();
  if (status_.isOk()) publishEntries();
}

// What this rank and those that share memory with it touch. What is reduced in place is in the
// cache already when it is written.
bool Execution::exceedsCache() const {
  if (launch_->input == launch_->output && plan::isReduction(launch_->op.type)) return false;
  const uint64_t bytes = launch_->inputBytes + launch_->outputBytes;
  return bytes * (plan_->directPeers.size() + 1) >= runtime::lastLevelCacheBytes();
}

void Execution::usePlan(std::shared_ptr<const plan::Plan> plan) {
  plan_ = std::move(plan);
  lanes_.resize(plan_->lanes);
  positionOf_.resize(plan_->steps.size());
  size_t operands = 1;
  for (const std::vector<uint32_t>& steps : plan_->laneSteps) {
    for (uint32_t i = 0; i < steps.size(); ++i) {
      positionOf_[steps[i]] = i;
      const Step& step = plan_->steps[steps[i]];
      operands = std::max<size_t>(operands, size_t{step.targets} + step.sources);
    }
  }
  targets_.resize(operands);
  sources_.resize(operands);
  pieceTargets_.resize(operands);
  pieces_.resize(operands);
  canInline_ = canInline();
}

// Decides, for this rank alone, which windows are the caller's memory and which are staged.
Status Execution::prepare() {
  const plan::Geometry& g = launch_->geometry;
  bool allInProcess = true;
  for (uint32_t r : plan_->directPeers) {
    allInProcess = allInProcess && context_.peer(r).direct->sameProcess;
  }
  const bool varying = plan::hasVaryingBlocks(launch_->op.type);
  uint64_t offset = 0;
  const auto reachable = [&](const std::byte* p, uint64_t bytes) {
    if (bytes == 0 || allInProcess) return true;
    runtime::Arena* arena = runtime::Arena::find(p, bytes, &offset);
    return arena != nullptr && arena->device() == context_.device();
  };
  inputInlined_ = canInline_ && !varying && g.iterations == 1 && launch_->inputBytes > 0 &&
                  launch_->inputBytes <= PairBoard::kInlineBytes;
  inputStaged_ = !inputInlined_ && plan_->inputRemote &&
                 ((varying && plan_->inputShape == BufferShape::kFull) ||
                  !reachable(launch_->input, launch_->inputBytes));
  // Where peers write results here, too, staging both is faster: the result lies in the cache.
  inputPlain_ = inputStaged_ && !plan_->outputRemote &&
                !(varying && plan_->inputShape == BufferShape::kFull) &&
                std::all_of(plan_->directPeers.begin(), plan_->directPeers.end(), [&](uint32_t r) {
                  const transport::DirectLink& direct = *context_.peer(r).direct;
                  return direct.sameProcess || direct.readsPlain(launch_->inputBytes);
                });
  if (inputPlain_) inputStaged_ = false;
  outputStaged_ = launch_->outputAliasesInput ||
                  (plan_->outputRemote && ((varying && plan_->outputShape == BufferShape::kFull) ||
                                           !reachable(launch_->output, launch_->outputBytes)));
  const uint64_t blockBytes = g.capacity * g.elementSize;
  // One window for both where the operation may run in place: half of the staging, and its results
  // lie where the cache has their inputs.
  const bool isShared = inputStaged_ && plan::mayBeInPlace(launch_->op.type);
  outputWindow_ = inputStaged_ && !isShared ? windowBlocks(plan_->inputShape) * blockBytes : 0;
  scratch_ = outputWindow_;
  if (outputStaged_ || isShared) scratch_ += windowBlocks(plan_->outputShape) * blockBytes;
  slotBytes_ = scratch_ + plan_->scratchBlocks * blockBytes;
  slotBytes_ = (slotBytes_ + 63) / 64 * 64;
  if (slotBytes_ > 0) HCCL_RETURN_IF_ERROR(context_.staging().reserve(2 * slotBytes_));
  base_ = context_.staging().data();
  return Status::ok();
}

Poll Execution::advance() noexcept {
  const Poll poll = advanceSteps();
  ringNow();
  return poll;
}

Poll Execution::advanceSteps() noexcept {
  if (!status_.isOk()) return Poll::kDone;
  bool moved = false;
  bool finished = true;
  for (uint16_t lane = 0; lane < plan_->lanes; ++lane) {
    if (!runLane(lane, moved)) {
      if (!status_.isOk()) return Poll::kDone;
      finished = false;
    }
  }
  if (finished) {
    prepareNextEntries();
    return Poll::kDone;
  }
  if (moved) {
    idlePolls_ = 0;
    waitingSince_ = 0;
    leftPeer_ = -1;
    return Poll::kProgress;
  }
  if (context_.failed()) {
    status_ = context_.failure();
    return Poll::kDone;
  }
  if (suspicion_.isRaised && judgeSuspicion()) return Poll::kDone;
  const bool news = newsOfDepartures();
  ++idlePolls_;
  if ((idlePolls_ >= kPollsBeforeClockReads && idlePolls_ % kPollsBetweenClockReads == 0) || news) {
    if (peerLeft()) {
      status_ = peerLeftError();
      return Poll::kDone;
    }
    if (timedOut()) {
      status_ = timeoutError();
      return Poll::kDone;
    }
    if (waitingStep_ != nullptr) {
      context_.recorder().waits(launch_->ticket, waitingStep_->peer,
                                plan::stepName(waitingStep_->kind), waitingSince_);
    }
    lookForStrangers();
    if (!status_.isOk()) return Poll::kDone;
  }
  // The second look at a peer that left comes at once.
  return news && leftPeer_ >= 0 ? Poll::kProgress : Poll::kIdle;
}

// True when the lane has finished all iterations.
bool Execution::runLane(uint16_t lane, bool& moved) {
  LaneState& state = lanes_[lane];
  const std::vector<uint32_t>& steps = plan_->laneSteps[lane];
  while (state.iteration < launch_->geometry.iterations) {
    if (state.position == 0 && !mayStart(state)) return false;
    while (state.position < steps.size()) {
      const Step& step = plan_->steps[steps[state.position]];
      if (!depsMet(step, state.iteration)) return false;
      const Outcome outcome = runStep(step, state);
      if (outcome == Outcome::kFailed) return false;
      if (outcome == Outcome::kProgress) moved = true;
      if (outcome != Outcome::kDone) return false;
      moved = true;
      ++state.position;
    }
    state.position = 0;
    ++state.iteration;
  }
  return true;
}

// Staging has two slots: an iteration starts when all lanes have finished the one before the last.
bool Execution::mayStart(const LaneState& lane) const {
  for (const LaneState& other : lanes_) {
    if (other.iteration + 1 < lane.iteration) return false;
  }
  return true;
}

bool Execution::depsMet(const Step& step, uint64_t iteration) const {
  for (uint32_t i = 0; i < step.deps; ++i) {
    const uint32_t dep = plan_->deps[step.dep + i];
    const LaneState& lane = lanes_[plan_->steps[dep].lane];
    if (lane.iteration < iteration ||
        (lane.iteration == iteration && lane.position <= positionOf_[dep])) {
      return false;
    }
  }
  return true;
}

Execution::Outcome Execution::runStep(const Step& step, LaneState& lane) {
  const bool movesMuch = launch_->inputBytes + launch_->outputBytes > kRingBytes;
  if (movesMuch && step.kind != StepKind::kOpen && step.kind != StepKind::kClose) ringNow();
  switch (step.kind) {
    case StepKind::kStageIn:
    case StepKind::kStageOut:
    case StepKind::kStageAside:
      return stageStep(step, lane.iteration);
    case StepKind::kCombine:
      return combineStep(step, lane.iteration);
    case StepKind::kPut:
    case StepKind::kTake:
      return messageStep(step, lane);
    case StepKind::kOpen:
    case StepKind::kClose:
      return signalStep(step, lane.iteration);
    case StepKind::kAwaitOpen:
    case StepKind::kAwaitClose:
      return awaitStep(step, lane.iteration);
  }
  return Outcome::kDone;
}

Execution::Outcome Execution::failWith(const Status& cause) {
  if (status_.isOk()) status_ = cause;
  return Outcome::kFailed;
}

// ---- memory -------------------------------------------------------------------------------------

std::byte* Execution::localAddress(const Ref& ref, uint64_t c) const {
  const plan::Geometry& g = launch_->geometry;
  switch (ref.buffer) {
    case Buffer::kInput:
      // This rank reads its own input where the caller left it.
      return const_cast<std::byte*>(launch_->input) +
             g.userOffset(false, plan_->inputShape, ref.block, c) * g.elementSize;
    case Buffer::kOutput:
      if (stagesOutput(ref.block)) {
        return slot(c) + outputWindow_ +
               g.slotOffset(plan_->outputShape, ref.block, c) * g.elementSize;
      }
      return launch_->output + g.userOffset(true, plan_->outputShape, ref.block, c) * g.elementSize;
    case Buffer::kScratch:
      break;
  }
  return slot(c) + scratch_ + ref.block * g.pitch(c) * g.elementSize;
}

std::byte* Execution::address(uint32_t rank, const Ref& ref, uint64_t c) const {
  if (rank == plan_->rank) return localAddress(ref, c);
  const plan::Geometry& g = launch_->geometry;
  const Peer& peer = context_.peer(rank);
  if (ref.buffer == Buffer::kScratch) {
    return peer.scratch + (c & 1) * peer.slotBytes + ref.block * g.pitch(c) * g.elementSize;
  }
  const bool output = ref.buffer == Buffer::kOutput;
  const BufferShape shape = output ? plan_->outputShape : plan_->inputShape;
  std::byte* base = output ? peer.output : peer.input;
  if (output ? peer.outputStaged : peer.inputStaged) {
    const uint64_t place = plan_->pairRelative ? 0 : g.slotOffset(shape, ref.block, c);
    return base + (c & 1) * peer.slotBytes + place * g.elementSize;
  }
  if (plan_->pairRelative) return base + c * g.capacity * g.elementSize;
  return base + g.userOffset(output, shape, ref.block, c) * g.elementSize;
}

bool Execution::isStaged(uint32_t rank, const Ref& ref) const {
  if (ref.buffer != Buffer::kOutput) return true;
  return rank == plan_->rank ? stagesOutput(ref.block) : context_.peer(rank).outputStaged;
}

Execution::Outcome Execution::stageStep(const Step& step, uint64_t c) {
  const bool out = step.kind != StepKind::kStageIn;
  if (out ? !outputStaged_ : !inputStaged_) return Outcome::kDone;
  if (step.kind == StepKind::kStageAside && !launch_->outputAliasesInput) return Outcome::kDone;
  const plan::Geometry& g = launch_->geometry;
  const BufferShape shape = out ? plan_->outputShape : plan_->inputShape;
  for (uint32_t s = 0; s < step.segments; ++s) {
    const plan::Segment& segment = plan_->segmentPool[step.segment + s];
    const uint64_t bytes = segmentLength(segment, c) * g.elementSize;
    if (bytes == 0) continue;
    const uint32_t block = plan_->refs[segment.refs].block;
    const uint64_t user = g.userOffset(out, shape, block, c) * g.elementSize;
    std::byte* window =
        slot(c) + (out ? outputWindow_ : 0) + g.slotOffset(shape, block, c) * g.elementSize;
    if (out) {
      reduce::copy(launch_->output + user, window, bytes, streaming_);
    } else {
      reduce::copy(window, launch_->input + user, bytes, false);
    }
  }
  return Outcome::kDone;
}

Execution::Outcome Execution::combineStep(const Step& step, uint64_t c) {
  const plan::Geometry& g = launch_->geometry;
  for (uint32_t s = 0; s < step.segments; ++s) {
    const plan::Segment& segment = plan_->segmentPool[step.segment + s];
    const uint64_t length = segmentLength(segment, c);
    if (length == 0) continue;
    int targets = 0;
    bool hasPlain = false;
    bool streaming = streaming_;  // but not into staging, which is read soon
    for (uint32_t i = 0; i < step.sources; ++i) {
      const uint32_t operand = step.targets + i;
      const uint32_t rank = plan_->operandRanks[step.operand + operand];
      sources_[i] = address(rank, plan_->refs[segment.refs + operand], c);
      hasPlain = hasPlain || isPlain(rank, plan_->refs[segment.refs + operand]);
    }
    for (uint32_t i = 0; i < step.targets; ++i) {
      std::byte* target =
          address(plan_->operandRanks[step.operand + i], plan_->refs[segment.refs + i], c);
      // An address of another process is no place here.
      if (step.sources == 1 && !hasPlain && target == sources_[0]) continue;
      streaming = streaming &&
                  !isStaged(plan_->operandRanks[step.operand + i], plan_->refs[segment.refs + i]);
      targets_[static_cast<size_t>(targets++)] = target;
    }
    if (targets == 0) continue;
    if (hasPlain) {
      const Outcome outcome = combineRead(step, segment, targets, length * g.elementSize);
      if (outcome != Outcome::kDone) return outcome;
      continue;
    }
    if (step.sources == 1 && targets == 1) {
      reduce::copy(targets_[0], sources_[0], length * g.elementSize, streaming);
    } else {
      reduce::combine(targets_.data(), targets, sources_.data(), step.sources, length,
                      launch_->op.dataType, launch_->op.reduceOp, streaming);
    }
  }
  return Outcome::kDone;
}

bool Execution::contactHasData(const Step& step, uint64_t c) const {
  if (c == 0) return true;
  for (uint32_t s = 0; s < step.segments; ++s) {
    if (segmentLength(plan_->segmentPool[step.segment + s], c) > 0) return true;
  }
  return false;
}

}  // namespace hccl::executor
