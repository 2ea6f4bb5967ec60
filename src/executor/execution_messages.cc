// The message half of Execution: Put and Take, frame by frame.
#include "src/executor/execution.h"
#include "src/executor/mismatch.h"

namespace hccl::executor {

using plan::Step;
using transport::Io;

transport::FrameHeader Execution::header(uint64_t count, uint32_t frame, uint64_t bytes) const {
  transport::FrameHeader h;
  h.sequence = launch_->sequence;
  h.signature = launch_->signature;
  h.count = count;
  h.step = frame;
  h.bytes = bytes;
  return h;
}

// Moves to the next piece that has a frame. False when the step has none left. Without data there
// is no frame, but the first iteration sends at least one: it carries the signature.
bool Execution::nextPiece(const Step& step, LaneState& lane, uint64_t& bytes) const {
  const uint64_t c = lane.iteration;
  for (; lane.piece < step.segments; ++lane.piece) {
    const plan::Segment& segment = plan_->segmentPool[step.segment + lane.piece];
    bytes = segmentLength(segment, c) * launch_->geometry.elementSize;
    if (bytes > 0 || (c == 0 && !lane.pieceSent && lane.piece + 1 == step.segments)) return true;
  }
  return false;
}

void Execution::beginFrame(const Step& step, LaneState& lane, uint64_t bytes) {
  Peer& peer = context_.peer(step.peer);
  const plan::Segment& segment = plan_->segmentPool[step.segment + lane.piece];
  std::byte* place = localAddress(plan_->refs[segment.refs], lane.iteration);
  if (step.kind == plan::StepKind::kPut) {
    lane.send.header = header(launch_->countTo(step.peer), peer.framesSent++, bytes);
    lane.send.data = place;
    lane.send.sent = 0;
  } else {
    lane.receive.expected = header(launch_->countFrom(step.peer), peer.framesReceived++, bytes);
    lane.receive.data = place;
    lane.receive.received = 0;
  }
  lane.frameActive = true;
  lane.pieceSent = true;
}

Execution::Outcome Execution::messageStep(const Step& step, LaneState& lane) {
  Peer& peer = context_.peer(step.peer);
  transport::MessageLink& link = *peer.message;
  // The link has given up its place in the stream of frames.
  if (differs(peer)) return Outcome::kIdle;
  bool moved = false;
  uint64_t bytes = 0;
  while (lane.frameActive || nextPiece(step, lane, bytes)) {
    if (!lane.frameActive) beginFrame(step, lane, bytes);
    const Io io =
        step.kind == plan::StepKind::kPut ? link.send(lane.send) : link.receive(lane.receive);
    if (io == Io::kMismatch) {
      const transport::FrameHeader& want = lane.receive.expected;
      const transport::FrameHeader& got = lane.receive.got;
      return suspect(step.peer, {want.sequence, want.signature, want.count},
                     {got.sequence, got.signature, got.count});
    }
    if (io == Io::kFailed) {
      describeWait(step);
      return brokenLink_.settled() ? failWith(link.failure()) : Outcome::kIdle;
    }
    if (io != Io::kDone) {
      describeWait(step);
      return io == Io::kProgress || moved ? Outcome::kProgress : Outcome::kIdle;
    }
    lane.frameActive = false;
    if (step.kind == plan::StepKind::kTake) peer.agreedIn = launch_->sequence + 1;
    moved = true;
    ++lane.piece;
  }
  lane.piece = 0;
  lane.pieceSent = false;
  return Outcome::kDone;
}

}  // namespace hccl::executor
