// Execution: advances one launch of a plan. Non-blocking and resumable; allocates nothing once its
// vectors have grown to the plan's size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/executor/broken_link.h"
#include "src/executor/context.h"
#include "src/executor/launch.h"
#include "src/executor/mismatch.h"
#include "src/runtime/task.h"
#include "transport/transport.h"

namespace hccl::executor {

class Execution {
 public:
  explicit Execution(Context& context) : context_(context) {}

  // The launch must stay alive until advance() returned kDone.
  void begin(const Launch& launch);
  runtime::Poll advance() noexcept;
  const Status& status() const { return status_; }

 private:
  struct LaneState {
    uint64_t iteration = 0;
    uint32_t position = 0;  // index into the lane's steps
    uint32_t piece = 0;     // Put, Take: segment under way
    bool frameActive = false;
    bool pieceSent = false;  // Put, Take: a frame of this step went through
    transport::SendState send;
    transport::ReceiveState receive;
  };
  enum class Outcome { kDone, kIdle, kProgress, kFailed };

  void usePlan(std::shared_ptr<const plan::Plan> plan);
  Status prepare();
  bool exceedsCache() const;
  void openAtOnce();
  bool canInline() const;
  void prefetchInlined(const Peer& peer) const;
  void prepareNextEntries() const;
  runtime::Poll advanceSteps() noexcept;
  void ringSoon(Peer& peer);
  void ringNow();
  void publishEntries();
  bool runLane(uint16_t lane, bool& moved);
  bool mayStart(const LaneState& lane) const;
  bool depsMet(const plan::Step& step, uint64_t iteration) const;
  Outcome runStep(const plan::Step& step, LaneState& lane);
  Outcome stageStep(const plan::Step& step, uint64_t c);
  Outcome combineStep(const plan::Step& step, uint64_t c);
  bool isStaged(uint32_t rank, const plan::Ref& ref) const;
  bool isPlain(uint32_t rank, const plan::Ref& ref) const;
  Outcome combineRead(const plan::Step& step, const plan::Segment& segment, int targets,
                      uint64_t bytes);
  Outcome readFrom(uint32_t rank, void* to, const void* from, uint64_t bytes);
  Outcome messageStep(const plan::Step& step, LaneState& lane);
  bool nextPiece(const plan::Step& step, LaneState& lane, uint64_t& bytes) const;
  void beginFrame(const plan::Step& step, LaneState& lane, uint64_t bytes);
  Outcome signalStep(const plan::Step& step, uint64_t c);
  Outcome awaitStep(const plan::Step& step, uint64_t c);
  Outcome readEntry(Peer& peer);
  Outcome failWith(const Status& cause);
  Outcome suspect(uint32_t rank, const Contact& mine, const Contact& theirs);
  bool differs(const Peer& peer) const { return peer.differedIn == launch_->sequence + 1; }
  bool judgeSuspicion();
  bool announcedBy(uint32_t rank, Contact& contact) const;
  bool voteOf(uint32_t rank, Contact& contact) const;
  std::string arrivals() const;
  Status timeoutError() const;
  bool timedOut();
  bool peerLeft();
  bool newsOfDepartures();
  Status peerLeftError() const;
  void lookForStrangers();
  bool contactOf(uint32_t rank, Contact& contact) const;
  void describeWait(const plan::Step& step) { waitingStep_ = &step; }

  uint64_t segmentLength(const plan::Segment& segment, uint64_t c) const {
    return launch_->geometry.length(segment.lengthOutput, segment.lengthBlock, segment.run, c);
  }
  uint64_t windowBlocks(plan::BufferShape shape) const {
    return shape == plan::BufferShape::kSingle ? 1 : plan_->blocks;
  }
  bool contactHasData(const plan::Step& step, uint64_t c) const;
  std::byte* address(uint32_t rank, const plan::Ref& ref, uint64_t c) const;
  std::byte* localAddress(const plan::Ref& ref, uint64_t c) const;
  bool stagesOutput(uint32_t block) const {
    return outputStaged_ && (launch_->outputAliasesInput || plan_->outputTouched[block]);
  }
  std::byte* slot(uint64_t c) const { return base_ + (c & 1) * slotBytes_; }
  transport::FrameHeader header(uint64_t count, uint32_t frame, uint64_t bytes) const;

  Context& context_;
  const Launch* launch_ = nullptr;
  std::shared_ptr<const plan::Plan> plan_;
  std::vector<LaneState> lanes_;
  std::vector<uint32_t> positionOf_;  // of each step in its lane
  std::vector<void*> targets_;
  std::vector<const void*> sources_;
  std::vector<void*> pieceTargets_;  // the same, where sources have to be read piece by piece
  std::vector<const void*> pieces_;
  std::vector<Peer*> ringsDue_;
  std::vector<std::byte> room_;  // for pieces of plain memory that was read
  std::byte* base_ = nullptr;    // staging: two slots of {input window, output window, scratch}
  uint64_t slotBytes_ = 0;
  uint64_t outputWindow_ = 0;  // offsets in a slot
  uint64_t scratch_ = 0;
  bool canInline_ = false;  // of the plan
  bool inputInlined_ = false;
  bool inputStaged_ = false;
  bool inputPlain_ = false;  // peers in other processes read the caller's plain memory
  bool outputStaged_ = false;
  bool streaming_ = false;
  uint64_t idlePolls_ = 0;
  uint64_t waitingSince_ = 0;
  uint32_t stranger_ = 0;  // rank that is looked at next
  BrokenLink brokenLink_;
  // A rank that does something else than this one; who of both is at fault, the others tell.
  struct Suspicion {
    bool isRaised = false;
    uint32_t rank = 0;
    uint64_t sinceNs = 0;
    Contact mine, theirs;
  };
  Suspicion suspicion_;
  bool hasAnnounced_ = false;  // that it waits, to ranks that cannot see it
  uint64_t departures_ = 0;    // of peers, that have been looked at
  int64_t leftPeer_ = -1;      // peer that has left, seen at the last look
  const plan::Step* waitingStep_ = nullptr;
  Status status_;
};

}  // namespace hccl::executor
