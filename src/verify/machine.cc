#include "src/verify/machine.h"

#include <fmt/format.h>

#include <algorithm>

namespace hccl::verify {

using plan::Step;
using plan::StepKind;

Machine::Machine(std::vector<Operation> operations)
    : operations_(std::move(operations)),
      ranks_(operations_[0].world->ranks),
      expressions_(ranks_),
      rank_(ranks_),
      pairs_(size_t{ranks_} * ranks_),
      firstResult_(operations_.size()) {}

std::optional<Finding> Machine::run() {
  for (uint32_t r = 0; r < ranks_; ++r) wake(r);
  while (!ready_.empty() && !finding_) {
    const uint32_t r = ready_.front();
    ready_.pop_front();
    rank_[r].queued = false;
    while (rank_[r].operation < operations_.size() && !finding_) {
      if (!rank_[r].begun) begin(r);
      if (!advance(r) || finding_) break;
      checkResult(r);
      rank_[r].begun = false;
      ++rank_[r].operation;
    }
  }
  if (!finding_) reportBlocked();
  if (!finding_) checkLeftovers();
  return finding_;
}

void Machine::wake(uint32_t r) {
  if (rank_[r].queued) return;
  rank_[r].queued = true;
  ready_.push_back(r);
}

// True when the rank has finished its operation.
bool Machine::advance(uint32_t r) {
  const plan::Plan& plan = world(r).plans[r];
  bool moved = true;
  bool finished = false;
  while (moved && !finished && !finding_) {
    moved = false;
    finished = true;
    for (uint16_t l = 0; l < plan.lanes && !finding_; ++l) {
      const bool done = runLane(r, rank_[r].lanes[l], plan.laneSteps[l], moved);
      finished = finished && done;
    }
  }
  return finished;
}

bool Machine::runLane(uint32_t r, Lane& lane, const std::vector<uint32_t>& steps, bool& moved) {
  const plan::Plan& plan = world(r).plans[r];
  while (lane.iteration < world(r).geometry[r].iterations) {
    if (lane.position == 0 && !mayStart(rank_[r], lane)) return false;
    while (lane.position < steps.size()) {
      const uint32_t index = steps[lane.position];
      if (!depsMet(r, plan.steps[index], lane.iteration)) return false;
      if (runStep(r, index, lane) != Outcome::kDone) return false;
      moved = true;
      ++lane.position;
    }
    lane.position = 0;
    ++lane.iteration;
  }
  return true;
}

bool Machine::mayStart(const Rank& rank, const Lane& lane) const {
  return std::all_of(rank.lanes.begin(), rank.lanes.end(),
                     [&](const Lane& other) { return other.iteration + 1 >= lane.iteration; });
}

bool Machine::depsMet(uint32_t r, const Step& step, uint64_t iteration) const {
  const plan::Plan& plan = world(r).plans[r];
  for (uint32_t i = 0; i < step.deps; ++i) {
    const uint32_t dep = plan.deps[step.dep + i];
    const Lane& lane = rank_[r].lanes[plan.steps[dep].lane];
    if (lane.iteration < iteration ||
        (lane.iteration == iteration && lane.position <= rank_[r].positionOf[dep])) {
      return false;
    }
  }
  return true;
}

Machine::Outcome Machine::runStep(uint32_t r, uint32_t index, Lane& lane) {
  const Step& step = world(r).plans[r].steps[index];
  switch (step.kind) {
    case StepKind::kStageIn:
    case StepKind::kStageOut:
    case StepKind::kStageAside:
      return stage(r, index, lane.iteration);
    case StepKind::kCombine:
      return combine(r, index, lane.iteration);
    case StepKind::kPut:
      return put(r, index, lane);
    case StepKind::kTake:
      return take(r, index, lane);
    default:
      return signal(r, step, lane.iteration);
  }
}

// ---- memory -------------------------------------------------------------------------------------

bool Machine::load(uint32_t r, uint32_t index, uint64_t c, const Place& place,
                   std::vector<Piece>& out) {
  out.clear();
  if (!map(r).inside(place)) {
    (void)fail(Fault::kPlace, r, index, c, placeText(place), "a place inside of its buffer",
               "one that reaches beyond it");
    return false;
  }
  rank_[place.rank].spaces[place.space].read(place.begin, place.length, out);
  for (const Piece& piece : out) {
    if (piece.value.expression != Expressions::kNothing) continue;
    Place hole = place;
    hole.begin += piece.begin;
    hole.length = piece.length;
    (void)fail(Fault::kUnwritten, r, index, c, placeText(hole), "data to read",
               "memory that nobody has written");
    return false;
  }
  return true;
}

bool Machine::store(uint32_t r, uint32_t index, uint64_t c, const Place& place,
                    const std::vector<Piece>& pieces) {
  if (!map(r).writable(place)) {
    (void)fail(Fault::kPlace, r, index, c, placeText(place), "a place inside of output or staging",
               "one that reaches beyond it");
    return false;
  }
  rank_[place.rank].spaces[place.space].write(place.begin, pieces);
  return true;
}

Machine::Outcome Machine::stage(uint32_t r, uint32_t index, uint64_t c) {
  const Step& step = world(r).plans[r].steps[index];
  loaded_.resize(std::max<size_t>(loaded_.size(), 1));
  Place to;
  reader(r).forAccesses(r, step, c, [&](uint32_t, uint32_t, const Place& place, bool write) {
    if (write) {
      to = place;
    } else if (!finding_ && load(r, index, c, place, loaded_[0])) {
      (void)store(r, index, c, to, loaded_[0]);
    }
  });
  return finding_ ? Outcome::kFailed : Outcome::kDone;
}

Machine::Outcome Machine::combine(uint32_t r, uint32_t index, uint64_t c) {
  const Step& step = world(r).plans[r].steps[index];
  if (step.sources == 0 || step.lane != 0) {
    return fail(Fault::kMalformed, r, index, c, "", "sources, and lane 0", "something else");
  }
  for (uint32_t i = 0; i < step.segments; ++i) {
    const plan::Segment& segment = reader(r).segment(r, step, i);
    if (reader(r).length(r, segment, c) == 0) continue;
    const Outcome outcome = combineSegment(r, index, segment, c);
    if (outcome != Outcome::kDone) return outcome;
  }
  return Outcome::kDone;
}

// The operands, cut where any of them is cut.
Machine::Outcome Machine::combineSegment(uint32_t r, uint32_t index, const plan::Segment& segment,
                                         uint64_t c) {
  const Step& step = world(r).plans[r].steps[index];
  const StepReader read = reader(r);
  loaded_.resize(std::max<size_t>(loaded_.size(), step.sources));
  std::vector<uint64_t> cuts;
  for (uint32_t i = 0; i < step.sources; ++i) {
    const Place place = read.operand(r, step, segment, step.targets + i, c);
    if (!load(r, index, c, place, loaded_[i])) return Outcome::kFailed;
    for (const Piece& piece : loaded_[i]) cuts.push_back(piece.begin + piece.length);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<size_t> at(step.sources, 0);
  std::vector<uint32_t> operands(step.sources);
  result_.clear();
  uint64_t begin = 0;
  for (uint64_t end : cuts) {
    uint64_t element = 0;
    for (uint32_t i = 0; i < step.sources; ++i) {
      const Piece& piece = loaded_[i][at[i]];
      const uint64_t own = piece.value.element + (begin - piece.begin);
      if (i > 0 && own != element) {
        return fail(Fault::kWrongValue, r, index, c,
                    placeText(read.operand(r, step, segment, step.targets + i, c)),
                    fmt::format("logical element {}", element),
                    fmt::format("logical element {}", own));
      }
      element = own;
      operands[i] = piece.value.expression;
      if (piece.begin + piece.length == end) ++at[i];
    }
    uint32_t twice = 0;
    const uint32_t e = step.sources == 1 ? operands[0] : expressions_.combine(operands, twice);
    if (e == Expressions::kNothing) {
      return fail(Fault::kWrongValue, r, index, c, placeText(read.operand(r, step, segment, 0, c)),
                  "every input once", fmt::format("the input of rank {} twice", twice));
    }
    result_.push_back({begin, end - begin, {e, element}});
    begin = end;
  }
  for (uint32_t o = 0; o < step.targets; ++o) {
    if (!store(r, index, c, read.operand(r, step, segment, o, c), result_)) return Outcome::kFailed;
  }
  return Outcome::kDone;
}

// ---- signals and messages -----------------------------------------------------------------------

Machine::Outcome Machine::signal(uint32_t r, const Step& step, uint64_t c) {
  if (!reader(r).hasContact(r, step, c)) return Outcome::kDone;
  const bool send = step.kind == StepKind::kOpen || step.kind == StepKind::kClose;
  const bool open = step.kind == StepKind::kOpen || step.kind == StepKind::kAwaitOpen;
  Pair& between = send ? pair(r, step.peer) : pair(step.peer, r);
  uint32_t& count = open ? between.opens : between.closes;
  if (send) {
    ++count;
    wake(step.peer);
    return Outcome::kDone;
  }
  if (count == 0) return Outcome::kBlocked;
  --count;
  return Outcome::kDone;
}

// Moves to the next piece that has a frame; the first iteration sends one at least.
bool Machine::nextPiece(uint32_t r, const Step& step, Lane& lane) const {
  const StepReader read = reader(r);
  for (; lane.piece < step.segments; ++lane.piece) {
    const bool first = lane.iteration == 0 && !lane.pieceSent && lane.piece + 1 == step.segments;
    if (first || read.length(r, read.segment(r, step, lane.piece), lane.iteration) > 0) return true;
  }
  return false;
}

Machine::Outcome Machine::put(uint32_t r, uint32_t index, Lane& lane) {
  const Step& step = world(r).plans[r].steps[index];
  Pair& channel = pair(r, step.peer);
  while (lane.offered || nextPiece(r, step, lane)) {
    if (lane.offered) {
      if (channel.full) return Outcome::kBlocked;
      lane.offered = false;
      lane.pieceSent = true;
      ++lane.piece;
      continue;
    }
    if (channel.full) return Outcome::kBlocked;
    const plan::Segment& segment = reader(r).segment(r, step, lane.piece);
    const Place place = reader(r).operand(r, step, segment, 0, lane.iteration);
    channel.length = reader(r).length(r, segment, lane.iteration);
    channel.operation = rank_[r].operation;
    channel.frame.clear();
    if (channel.length > 0 && !load(r, index, lane.iteration, place, channel.frame)) {
      return Outcome::kFailed;
    }
    channel.full = lane.offered = true;
    wake(step.peer);
  }
  lane.piece = 0;
  lane.pieceSent = false;
  return Outcome::kDone;
}

Machine::Outcome Machine::take(uint32_t r, uint32_t index, Lane& lane) {
  const Step& step = world(r).plans[r].steps[index];
  Pair& channel = pair(step.peer, r);
  while (nextPiece(r, step, lane)) {
    if (!channel.full) return Outcome::kBlocked;
    const plan::Segment& segment = reader(r).segment(r, step, lane.piece);
    const Place place = reader(r).operand(r, step, segment, 0, lane.iteration);
    const uint64_t length = reader(r).length(r, segment, lane.iteration);
    if (channel.length != length || channel.operation != rank_[r].operation) {
      return fail(
          Fault::kUnmatched, r, index, lane.iteration, placeText(place),
          fmt::format("a frame of {} elements from rank {}", length, step.peer),
          fmt::format("one of {} elements of operation {}", channel.length, channel.operation));
    }
    if (length > 0 && !store(r, index, lane.iteration, place, channel.frame)) {
      return Outcome::kFailed;
    }
    channel.full = false;
    wake(step.peer);
    lane.pieceSent = true;
    ++lane.piece;
  }
  lane.piece = 0;
  lane.pieceSent = false;
  return Outcome::kDone;
}

}  // namespace hccl::verify
