#include "algorithms/strided_algorithm.h"

namespace hccl::algorithms {

plan::Cost StridedAlgorithm::cost(const StageArgs& a) const {
  const double steps = plan::ceilLog2(a.size);
  const double part = (a.size - 1.0) / a.size;
  const bool reduces = a.op == StageOp::kAllReduce || a.op == StageOp::kReduce;
  if (a.oneShot) {
    const double halves = a.op == StageOp::kAllReduce ? 2 : 1;
    return {halves * steps, halves * steps, reduces ? steps : 0};
  }
  switch (a.op) {
    case StageOp::kAllReduce:
      return {2 * steps, 2 * part, part};
    case StageOp::kBroadcast:
      return {2 * steps, 2 * part, 0};
    case StageOp::kReduce:
      return {steps + 1, 2 * part, part};
    case StageOp::kReduceScatter:
      return {steps, part, part};
    case StageOp::kGather:
      return {1, part, 0};
    default:
      return {steps, part, 0};
  }
}

uint32_t StridedAlgorithm::rounds(const StageArgs& a) const {
  const uint32_t steps = plan::ceilLog2(a.size);
  switch (a.op) {
    case StageOp::kAllReduce:
      return 2 * steps;
    case StageOp::kBroadcast:
      return a.oneShot ? steps : 2 * steps;
    case StageOp::kReduce:
      return a.oneShot ? steps : steps + 1;
    case StageOp::kGather:
      return 1;
    default:
      return steps;
  }
}

void StridedAlgorithm::oneShot(const StageArgs& a, uint32_t round, uint32_t owner,
                               std::vector<Move>& out) const {
  const uint32_t steps = plan::ceilLog2(a.size);
  if (a.op == StageOp::kBroadcast) {
    broadcastTree(a, round, owner, Buffer::kInput, out);
  } else if (a.op == StageOp::kReduce) {
    reduceTree(a, round, owner, Buffer::kScratch, Buffer::kOutput, out);
  } else if (round < steps) {
    reduceTree(a, round, owner, Buffer::kOutput, Buffer::kOutput, out);
  } else {
    broadcastTree(a, round - steps, owner, Buffer::kOutput, out);
  }
}

void StridedAlgorithm::moves(const StageArgs& a, uint32_t round, uint32_t owner,
                             std::vector<Move>& out) const {
  const uint32_t steps = plan::ceilLog2(a.size);
  if (a.oneShot) {
    oneShot(a, round, owner, out);
    return;
  }
  switch (a.op) {
    case StageOp::kReduceScatter:
      stridedReduceScatter(a, walk(a.size, false), round, owner, Buffer::kScratch, Buffer::kOutput,
                           out);
      break;
    case StageOp::kAllGather:
      if (round == 0) {
        out.push_back(copyMove({owner, Buffer::kOutput, owner}, {owner, Buffer::kInput, owner}));
      }
      allGather(a, round, owner, Buffer::kInput, false, a.size, out);
      break;
    case StageOp::kAllReduce:
      if (round < steps) {
        stridedReduceScatter(a, walk(a.size, true), round, owner, Buffer::kOutput, Buffer::kOutput,
                             out);
      } else {
        allGather(a, round - steps, owner, Buffer::kOutput, true, a.size, out);
      }
      break;
    case StageOp::kBroadcast:
      if (round < steps) {
        stridedScatter(a, walk(a.size, true), round, owner, Buffer::kOutput, out);
      } else {
        allGather(a, round - steps, owner, Buffer::kOutput, true, a.root, out);
      }
      break;
    case StageOp::kScatter:
      if (round == 0 && owner == a.root) {
        out.push_back(copyMove({owner, Buffer::kOutput, owner}, {owner, Buffer::kInput, owner}));
      }
      stridedScatter(a, walk(a.size, false), round, owner, Buffer::kScratch, out);
      break;
    case StageOp::kReduce:
      if (round < steps) {
        stridedReduceScatter(a, walk(a.size, false), round, owner, Buffer::kScratch,
                             Buffer::kScratch, out);
      } else if (owner == a.root) {
        gatherBlocks(a, Buffer::kScratch, out);
      }
      break;
    case StageOp::kGather:
      if (owner == a.root) gatherBlocks(a, Buffer::kInput, out);
      break;
    default:
      break;
  }
}

}  // namespace hccl::algorithms
