// Plan: what one rank does in an operation, lowered onto the link classes of its peers. A loop
// program: every lane runs its steps in order, once per iteration of the chunk grid; a step may
// also wait for steps of other lanes in the same iteration. No count and no address is in a plan,
// so repeated calls of any size share it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/plan/geometry.h"
#include "src/plan/moves.h"

namespace hccl::plan {

enum class StepKind : uint8_t {
  kStageIn,  // caller's input -> input window; nothing to do when the window is the caller's buffer
  kStageOut,    // output window -> caller's output; likewise
  kStageAside,  // the blocks of the output that no peer touches: staged where the output lies on
                // the input, and else written where the caller wants them
  kCombine,     // targets = reduction (or copy) of the sources; operands local or directly mapped
  kPut,         // send source operand 0 (local) to `peer`
  kTake,        // receive from `peer` into target operand 0 (local)
  kOpen,        // tell `peer` that it may touch this rank's buffers as its move of this round says
  kAwaitOpen,   // wait until `peer` has said so
  kClose,       // tell `peer` that this rank has finished with its buffers
  kAwaitClose   // wait until `peer` has said so
};
const char* stepName(StepKind kind);
inline bool isStage(StepKind kind) {
  return kind == StepKind::kStageIn || kind == StepKind::kStageOut || kind == StepKind::kStageAside;
}

// A run of consecutive blocks with the same relation between all operands.
struct Segment {
  uint32_t run = 1;           // blocks (more than one in vector operations only)
  uint32_t refs = 0;          // index into Plan::refs: one Ref an operand
  uint32_t lengthBlock = 0;   // first block of the run whose length counts, in this rank's output
  bool lengthOutput = false;  // or input (they differ in AlltoAll operations only)
};

struct Step {
  StepKind kind = StepKind::kCombine;
  uint16_t lane = 0;
  uint16_t round = 0;
  uint32_t peer = 0;
  // The blocks that are moved. Synchronising steps carry those of the contact they belong to: a
  // contact without data is skipped by both ends (but in the first iteration, which carries the
  // signature).
  uint32_t segment = 0;
  uint32_t segments = 0;
  uint16_t targets = 0;  // operands: targets first, then sources
  uint16_t sources = 0;
  uint32_t operand = 0;  // index into Plan::operandRanks
  uint32_t dep = 0;      // index into Plan::deps
  uint32_t deps = 0;
};

struct Plan {
  std::string name;  // AlgType text
  uint8_t algorithmId = 0;
  uint32_t rank = 0;
  uint32_t blocks = 1;
  uint32_t rounds = 0;
  bool vector = true;
  BufferShape inputShape =
      BufferShape::kFull;  // as the operation has it on every rank that uses it
  BufferShape outputShape = BufferShape::kFull;
  bool inputRemote = false;  // directly linked peers touch the input window
  bool outputRemote = false;
  std::vector<bool> inputTouched;  // by directly linked peers; a flag a block
  std::vector<bool> outputTouched;
  bool pairRelative = false;   // AlltoAll: a peer is told the place of its own block only
  uint32_t scratchBlocks = 0;  // staging blocks besides the windows: partial results, then cells
  uint16_t lanes =
      1;  // lane 0: everything but messages; then one lane for each direction of a peer

  std::vector<Step> steps;  // in an order that respects rounds; lanes pick theirs
  std::vector<std::vector<uint32_t>> laneSteps;
  std::vector<Segment> segmentPool;
  std::vector<Ref> refs;
  std::vector<uint32_t> operandRanks;
  std::vector<uint32_t> deps;  // step indices

  std::vector<uint32_t> directPeers;  // ascending; both ends list each other
  std::vector<uint32_t> messagePeers;

  const Ref& ref(const Step& step, uint32_t segmentIndex, uint32_t operandIndex) const {
    return refs[segmentPool[step.segment + segmentIndex].refs + operandIndex];
  }
  uint32_t rankOf(const Step& step, uint32_t operandIndex) const {
    return operandRanks[step.operand + operandIndex];
  }
};

}  // namespace hccl::plan
