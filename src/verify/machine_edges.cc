// Machine: what holds before an operation, and what must hold after it.
#include <fmt/format.h>

#include <algorithm>

#include "src/verify/machine.h"

namespace hccl::verify {

using plan::BufferShape;
using plan::Step;

namespace {

constexpr uint32_t kBlockShift = 40;  // of a block's number in a logical element

bool copies(HcclCMDType type) {
  return type == HCCL_CMD_BROADCAST || type == HCCL_CMD_ALLGATHER || type == HCCL_CMD_ALLGATHER_V ||
         type == HCCL_CMD_SCATTER || plan::isAllToAll(type);
}

}  // namespace

uint64_t Machine::logical(uint32_t r, uint32_t from, uint32_t to) const {
  const World& w = world(r);
  if (plan::isVectorOp(w.op.type)) return 0;
  const bool fromRank = w.op.type == HCCL_CMD_ALLGATHER || w.op.type == HCCL_CMD_ALLGATHER_V;
  if (fromRank) return uint64_t{from} << kBlockShift;
  if (plan::isAllToAll(w.op.type)) return (uint64_t{from} * ranks_ + to) << kBlockShift;
  return uint64_t{to} << kBlockShift;
}

void Machine::begin(uint32_t r) {
  Rank& rank = rank_[r];
  const plan::Plan& plan = world(r).plans[r];
  const plan::Geometry& g = world(r).geometry[r];
  rank.begun = true;
  rank.lanes.assign(plan.lanes, Lane());
  rank.positionOf.assign(plan.steps.size(), 0);
  for (const std::vector<uint32_t>& steps : plan.laneSteps) {
    for (uint32_t i = 0; i < steps.size(); ++i) rank.positionOf[steps[i]] = i;
  }
  rank.spaces[kInputSpace] = Contents();
  rank.spaces[kOutputSpace] = Contents();
  if (!map(r).present(r, false)) return;
  const Place input = map(r).buffer(r, false);
  Contents& contents = rank.spaces[input.space];
  const uint32_t mine = expressions_.input(r);
  if (g.vector) {
    contents.write(input.begin, g.total, {mine, 0});
  } else if (plan.inputShape == BufferShape::kSingle) {
    contents.write(input.begin, input.length, {mine, logical(r, r, r)});
  } else {
    for (uint32_t b = 0; b < g.blocks; ++b) {
      const uint64_t length = g.inputCounts != nullptr ? g.inputCounts[b] : g.total;
      contents.write(input.begin + g.userOffset(false, BufferShape::kFull, b, 0), length,
                     {mine, logical(r, r, b)});
    }
  }
}

void Machine::checkResult(uint32_t r) {
  const plan::Plan& plan = world(r).plans[r];
  const plan::Geometry& g = world(r).geometry[r];
  if (!map(r).present(r, true)) return;
  Place out = map(r).buffer(r, true);
  const bool rooted = plan::isRooted(world(r).op.type);
  const auto expected = [&](uint32_t block) {
    if (!copies(world(r).op.type)) return Expressions::kNothing;  // all inputs
    return expressions_.input(rooted ? world(r).op.root : block);
  };
  if (g.vector) {
    checkBlock(r, out, expected(0), 0);
  } else if (plan.outputShape == BufferShape::kSingle) {
    checkBlock(r, out, expected(r), logical(r, r, r));
  } else {
    for (uint32_t b = 0; b < g.blocks && !finding_; ++b) {
      Place block = out;
      block.begin += g.userOffset(true, BufferShape::kFull, b, 0);
      block.length = g.outputCounts != nullptr ? g.outputCounts[b] : g.total;
      checkBlock(r, block, expected(b), logical(r, b, r));
    }
  }
}

// `expected`: the input of one rank, or kNothing: the reduction of all.
void Machine::checkBlock(uint32_t r, const Place& place, uint32_t expected, uint64_t element) {
  std::vector<Piece> pieces;
  rank_[r].spaces[place.space].read(place.begin, place.length, pieces);
  for (const Piece& piece : pieces) {
    const uint32_t e = piece.value.expression;
    Place part = place;
    part.begin += piece.begin;
    part.length = piece.length;
    const bool right = expected != Expressions::kNothing ? e == expected : expressions_.complete(e);
    if (!right) {
      (void)fail(Fault::kWrongValue, r, -1, 0, placeText(part),
                 expected != Expressions::kNothing ? expressions_.text(expected)
                                                   : "the inputs of all ranks",
                 expressions_.text(e));
      return;
    }
    if (piece.value.element != element + piece.begin) {
      (void)fail(Fault::kWrongValue, r, -1, 0, placeText(part),
                 fmt::format("logical element {}", element + piece.begin),
                 fmt::format("logical element {}", piece.value.element));
      return;
    }
    if (world(r).strict && expected == Expressions::kNothing && !expressions_.inRankOrder(e)) {
      (void)fail(Fault::kWrongValue, r, -1, 0, placeText(part),
                 "unreduced inputs combined in the order of ranks", "another order");
      return;
    }
  }
  if (world(r).op.type == HCCL_CMD_ALLREDUCE) checkEqualBits(r, place, pieces);
}

// All ranks of an AllReduce hold equal bits: each element comes out of the same tree everywhere.
void Machine::checkEqualBits(uint32_t r, const Place& place, const std::vector<Piece>& pieces) {
  Contents& first = firstResult_[rank_[r].operation];
  std::vector<Piece> others;
  for (const Piece& piece : pieces) {
    others.clear();
    first.read(piece.value.element, piece.length, others);
    for (const Piece& other : others) {
      const uint32_t e = other.value.expression;
      if (e == Expressions::kNothing ||
          expressions_.tree(e) == expressions_.tree(piece.value.expression)) {
        continue;
      }
      (void)fail(Fault::kWrongValue, r, -1, 0, placeText(place),
                 "the order of combination that other ranks' results have", "another one");
      return;
    }
    first.write(piece.value.element, piece.length, piece.value);
  }
}

Machine::Outcome Machine::fail(Fault fault, uint32_t r, int64_t step, uint64_t c, std::string where,
                               std::string expected, std::string found) {
  if (!finding_) {
    finding_ = Finding{
        fault,           r, rank_[r].operation, c, step, std::move(where), std::move(expected),
        std::move(found)};
  }
  return Outcome::kFailed;
}

// Nobody can go on: names the first rank that waits, and what its peer does.
void Machine::reportBlocked() {
  for (uint32_t r = 0; r < ranks_; ++r) {
    if (rank_[r].operation == operations_.size()) continue;
    const plan::Plan& plan = world(r).plans[r];
    for (uint16_t l = 0; l < plan.lanes; ++l) {
      const Lane& lane = rank_[r].lanes[l];
      if (lane.iteration == world(r).geometry[r].iterations) continue;
      if (lane.position >= plan.laneSteps[l].size()) continue;
      const uint32_t index = plan.laneSteps[l][lane.position];
      const Step& step = plan.steps[index];
      if (!depsMet(r, step, lane.iteration)) continue;
      const Rank& peer = rank_[step.peer];
      (void)fail(Fault::kDeadlock, r, index, lane.iteration, "",
                 fmt::format("rank {} to answer", step.peer),
                 peer.operation == operations_.size()
                     ? "that it has ended"
                     : fmt::format("that it waits in operation {}", peer.operation));
      return;
    }
    (void)fail(Fault::kDeadlock, r, -1, 0, "", "a lane that can go on", "none");
    return;
  }
}

void Machine::checkLeftovers() {
  for (uint32_t a = 0; a < ranks_; ++a) {
    for (uint32_t b = 0; b < ranks_; ++b) {
      const Pair& between = pair(a, b);
      if (between.opens == 0 && between.closes == 0 && !between.full) continue;
      rank_[a].operation = operations_.size() - 1;
      (void)fail(Fault::kUnmatched, a, -1, 0, "", "every signal awaited",
                 fmt::format("{} opens, {} closes and {} frames that rank {} did not wait for",
                             between.opens, between.closes, between.full ? 1 : 0, b));
      return;
    }
  }
}

}  // namespace hccl::verify
