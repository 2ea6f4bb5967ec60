#include "src/plan/lowering.h"

#include <algorithm>
#include <set>

#include "src/plan/hazards.h"
#include "src/plan/plan_builder.h"

namespace hccl::plan {
namespace {

struct Exposure {
  uint32_t peer = 0;
  uint32_t firstSegment = 0;
  uint32_t segments = 0;
  uint16_t round = 0;
  int32_t awaited = -1;  // the kAwaitClose step, once emitted
};

class Lowering {
 public:
  Lowering(const OpDesc& op, const Schedule& schedule, uint32_t rank,
           const std::function<PeerLink(uint32_t)>& linkOf)
      : op_(op), schedule_(schedule), rank_(rank), linkOf_(linkOf), hazards_(!isAllToAll(op.type)) {
    plan_.name = schedule.name;
    plan_.algorithmId = schedule.id;
    plan_.rank = rank;
    plan_.blocks = schedule.blocks;
    plan_.vector = isVectorOp(op.type);
    plan_.pairRelative = isAllToAll(op.type) && !schedule.relays;
    plan_.inputTouched.resize(schedule.blocks);
    plan_.outputTouched.resize(schedule.blocks);
    shapes();
    cells_ = schedule.blocks;
  }

  Plan run() {
    const int32_t stageIn = stage(StepKind::kStageIn);
    plan_.rounds = schedule_.rounds();
    for (uint32_t round = 0; round < plan_.rounds; ++round) lowerRound(round);
    for (size_t e = 0; e < exposures_.size(); ++e) awaitClose(static_cast<int32_t>(e));
    evenRuns();
    fillStage(stageIn, stagedBlocks(false, true));
    fillStage(stage(StepKind::kStageOut), stagedBlocks(true, true));
    const std::vector<uint32_t> aside = stagedBlocks(true, false);
    if (mayBeAliased(op_.type) && !aside.empty()) fillStage(stage(StepKind::kStageAside), aside);
    finish();
    return std::move(builder_.plan);
  }

 private:
  void shapes() {
    const bool root = rank_ == op_.root;
    switch (op_.type) {
      case HCCL_CMD_ALLGATHER:
      case HCCL_CMD_ALLGATHER_V:
        plan_.inputShape = BufferShape::kSingle;
        break;
      case HCCL_CMD_REDUCE_SCATTER:
      case HCCL_CMD_REDUCE_SCATTER_V:
        plan_.outputShape = BufferShape::kSingle;
        break;
      case HCCL_CMD_SCATTER:
        plan_.outputShape = BufferShape::kSingle;
        hasInput_ = root;
        break;
      case HCCL_CMD_BROADCAST:
        hasInput_ = root;
        hasOutput_ = !root;
        break;
      case HCCL_CMD_REDUCE:
        hasOutput_ = root;
        break;
      default:
        break;
    }
  }

  // ---- hazards ----

  // Steps that must have finished before the access; closes are awaited in lane 0 as needed.
  void require(const Access& access, std::set<uint32_t>& deps) {
    hazards_.forConflicts(access, [&](const Access& earlier) {
      deps.insert(static_cast<uint32_t>(earlier.exposure >= 0 ? awaitClose(earlier.exposure)
                                                              : earlier.step));
    });
  }

  int32_t awaitClose(int32_t exposureIndex) {
    Exposure& exposure = exposures_[static_cast<size_t>(exposureIndex)];
    if (exposure.awaited >= 0) return exposure.awaited;
    // Closes of a peer come in order, so earlier ones are awaited first.
    for (int32_t e = 0; e < exposureIndex; ++e) {
      if (exposures_[static_cast<size_t>(e)].peer == exposure.peer) awaitClose(e);
    }
    Step step;
    step.kind = StepKind::kAwaitClose;
    step.peer = exposure.peer;
    step.segment = exposure.firstSegment;
    step.segments = exposure.segments;
    exposure.awaited = builder_.emit(step, {});
    return exposure.awaited;
  }

  // A block of the input onto the same block of the output: either the same memory, and nothing is
  // written, or memory that is not shared.
  static bool selfCopy(const Move& move) {
    if (move.sources.size() != 1 || move.targets.size() != 1 ||
        move.targets[0] != move.sources[0]) {
      return false;
    }
    for (size_t s = 0; s < move.segments(); ++s) {
      if (move.ref(s, 0).block != move.ref(s, 1).block ||
          move.ref(s, 0).buffer != Buffer::kOutput || move.ref(s, 1).buffer != Buffer::kInput) {
        return false;
      }
    }
    return true;
  }

  // Accesses that `move` makes to this rank's memory.
  std::vector<Access> accessesOf(const Move& move) const {
    std::vector<Access> list;
    const bool aliases = !selfCopy(move);
    for (size_t o = 0; o < move.operands(); ++o) {
      if (move.rankOf(o) != rank_) continue;
      for (size_t s = 0; s < move.segments(); ++s) {
        list.push_back({move.ref(s, o), o < move.targets.size(), aliases, -1, -1});
      }
    }
    return list;
  }

  // ---- rounds ----

  void lowerRound(uint32_t round) {
    builder_.setRound(round);
    round_ = round;
    if (!messagesOfRound_.empty()) messagesBefore_ = std::move(messagesOfRound_);
    messagesOfRound_.clear();
    std::vector<Move> own;
    schedule_.moves(round, rank_, own);
    std::vector<Move> touching;
    for (uint32_t q : schedule_.group(round, rank_)) {
      if (q == rank_) continue;
      std::vector<Move> moves;
      schedule_.moves(round, q, moves);
      for (Move& move : moves) {
        if (!accessesOf(move).empty()) touching.push_back(std::move(move));
      }
    }
    // Nearest following owners first, as they visit this rank in that order.
    std::stable_sort(touching.begin(), touching.end(), [this](const Move& a, const Move& b) {
      return distance(a.owner) < distance(b.owner);
    });
    for (const Move& move : touching) {
      if (linkOf_(move.owner) == PeerLink::kDirect) {
        expose(move);
      } else {
        putForOwner(move);
      }
    }
    for (const Move& move : own) ownMove(move);
    for (const Move& move : touching) {
      if (linkOf_(move.owner) == PeerLink::kMessage) takeFromOwner(move);
    }
  }

  uint32_t distance(uint32_t peer) const {
    return (rank_ + schedule_.rankCount - peer) % schedule_.rankCount;
  }

  void noteRemote(const Ref& ref) {
    plan_.inputRemote = plan_.inputRemote || ref.buffer == Buffer::kInput;
    plan_.outputRemote = plan_.outputRemote || ref.buffer == Buffer::kOutput;
    if (ref.buffer == Buffer::kInput) plan_.inputTouched[ref.block] = true;
    if (ref.buffer == Buffer::kOutput) plan_.outputTouched[ref.block] = true;
  }

  // A direct peer's move touches this rank: make the data final, then open.
  void expose(const Move& move) {
    std::set<uint32_t> deps;
    std::vector<Access> list = accessesOf(move);
    for (const Access& access : list) require(access, deps);
    Step step;
    step.kind = StepKind::kOpen;
    step.peer = move.owner;
    builder_.segments(step, move);
    builder_.emit(step, {}, deps);
    exposures_.push_back(
        {move.owner, step.segment, step.segments, static_cast<uint16_t>(round_), -1});
    for (Access& access : list) {
      noteRemote(access.ref);
      access.exposure = static_cast<int32_t>(exposures_.size()) - 1;
      hazards_.record(access);
    }
    direct_.insert(move.owner);
  }

  // A message peer's move reads from this rank: send what it reads.
  void putForOwner(const Move& move) {
    for (size_t o = move.targets.size(); o < move.operands(); ++o) {
      if (move.rankOf(o) == rank_) put(move, o, move.owner);
    }
  }

  // Emits a Put or Take; in paced schedules it begins after those of the round before.
  int32_t emitMessage(const Step& step, std::set<uint32_t> deps) {
    if (schedule_.paced) deps.insert(messagesBefore_.begin(), messagesBefore_.end());
    const int32_t index = builder_.emit(step, {rank_}, deps);
    messagesOfRound_.push_back(static_cast<uint32_t>(index));
    message_.insert(step.peer);
    return index;
  }

  int32_t put(const Move& move, size_t operand, uint32_t peer) {
    std::set<uint32_t> deps;
    for (size_t s = 0; s < move.segments(); ++s) {
      require({move.ref(s, operand), false, true, -1, -1}, deps);
    }
    Step step;
    step.kind = StepKind::kPut;
    step.peer = peer;
    step.lane = builder_.lane(peer, false);
    step.sources = 1;
    builder_.segments(step, move,
                      [&](uint32_t s) { return std::vector<Ref>{move.ref(s, operand)}; });
    const int32_t index = emitMessage(step, std::move(deps));
    for (size_t s = 0; s < move.segments(); ++s) {
      hazards_.record({move.ref(s, operand), false, true, index, -1});
    }
    return index;
  }

  // A message peer's move writes to this rank: receive it in place.
  void takeFromOwner(const Move& move) {
    for (size_t o = 0; o < move.targets.size(); ++o) {
      if (move.rankOf(o) == rank_) takeInPlace(move, o, move.owner);
    }
  }

  void takeInPlace(const Move& move, size_t operand, uint32_t peer) {
    std::set<uint32_t> deps;
    for (size_t s = 0; s < move.segments(); ++s) {
      require({move.ref(s, operand), true, true, -1, -1}, deps);
    }
    Step step;
    step.kind = StepKind::kTake;
    step.peer = peer;
    step.lane = builder_.lane(peer, true);
    step.targets = 1;
    builder_.segments(step, move,
                      [&](uint32_t s) { return std::vector<Ref>{move.ref(s, operand)}; });
    const int32_t index = emitMessage(step, std::move(deps));
    for (size_t s = 0; s < move.segments(); ++s) {
      hazards_.record({move.ref(s, operand), true, true, index, -1});
    }
  }

  // Receives source `operand` of an own move into cells; returns the first cell, one a block.
  uint32_t takeIntoCells(const Move& move, uint32_t peer, std::set<uint32_t>& deps) {
    const uint32_t first = cells_;
    cells_ += static_cast<uint32_t>(move.segments());
    Step step;
    step.kind = StepKind::kTake;
    step.peer = peer;
    step.lane = builder_.lane(peer, true);
    step.targets = 1;
    builder_.segments(step, move, [&](uint32_t s) {
      return std::vector<Ref>{{Buffer::kScratch, first + s}};
    });
    deps.insert(static_cast<uint32_t>(emitMessage(step, {})));
    return first;
  }

  void ownMove(const Move& move) {
    const bool plainReceive = move.targets.size() == 1 && move.sources.size() == 1 &&
                              move.targets[0] == rank_ && move.sources[0] != rank_ &&
                              linkOf_(move.sources[0]) == PeerLink::kMessage;
    if (plainReceive) {
      takeInPlace(move, 0, move.sources[0]);
      return;
    }
    std::set<uint32_t> deps;
    std::vector<uint32_t> directPeers;
    std::vector<uint32_t> pushPeers;
    std::vector<std::pair<uint32_t, int64_t>> operands;  // rank, first cell or -1; targets first
    std::vector<size_t> operandOf;                       // index in the move
    size_t targets = 0;
    auto direct = [&](uint32_t peer) {
      if (std::find(directPeers.begin(), directPeers.end(), peer) == directPeers.end()) {
        directPeers.push_back(peer);
      }
    };
    for (size_t o = 0; o < move.operands(); ++o) {
      const uint32_t peer = move.rankOf(o);
      const bool isTarget = o < move.targets.size();
      int64_t cell = -1;
      if (peer != rank_) {
        if (linkOf_(peer) == PeerLink::kDirect) {
          direct(peer);
        } else if (isTarget) {
          pushPeers.push_back(static_cast<uint32_t>(o));
          continue;
        } else {
          cell = takeIntoCells(move, peer, deps);
        }
      }
      operands.emplace_back(cell >= 0 ? rank_ : peer, cell);
      operandOf.push_back(o);
      targets += isTarget ? 1 : 0;
    }
    for (const Access& access : accessesOf(move)) require(access, deps);
    for (uint32_t peer : directPeers) {
      Step await;
      await.kind = StepKind::kAwaitOpen;
      await.peer = peer;
      builder_.segments(await, move);
      builder_.emit(await, {});
      direct_.insert(peer);
    }
    Step step;
    step.kind = StepKind::kCombine;
    step.targets = static_cast<uint16_t>(targets);
    step.sources = static_cast<uint16_t>(operands.size() - targets);
    std::vector<uint32_t> ranks;
    ranks.reserve(operands.size());
    for (const auto& operand : operands) ranks.push_back(operand.first);
    builder_.segments(step, move, [&](uint32_t s) {
      std::vector<Ref> refs;
      for (size_t i = 0; i < operands.size(); ++i) {
        refs.push_back(operands[i].second >= 0
                           ? Ref{Buffer::kScratch, static_cast<uint32_t>(operands[i].second) + s}
                           : move.ref(s, operandOf[i]));
      }
      return refs;
    });
    const int32_t index = builder_.emit(step, ranks, deps);
    for (Access access : accessesOf(move)) {
      access.step = index;
      hazards_.record(access);
    }
    for (uint32_t peer : directPeers) {
      Step close;
      close.kind = StepKind::kClose;
      close.peer = peer;
      close.segment = step.segment;
      close.segments = step.segments;
      builder_.emit(close, {});
    }
    if (!pushPeers.empty()) pushResult(move, pushPeers);
  }

  // Sends the combined blocks, which are in the local target, to the targets behind messages.
  void pushResult(const Move& move, const std::vector<uint32_t>& targetOperands) {
    size_t local = 0;
    while (local < move.targets.size() && move.targets[local] != rank_) ++local;
    for (uint32_t o : targetOperands) put(move, local, move.rankOf(o));
  }

  // ---- edges ----

  // The blocks of the caller's buffer, of those that peers touch or of the others.
  std::vector<uint32_t> stagedBlocks(bool out, bool touched) const {
    if (out ? !hasOutput_ : !hasInput_) return {};
    const bool isSingle = (out ? plan_.outputShape : plan_.inputShape) == BufferShape::kSingle;
    const std::vector<bool>& flags = out ? plan_.outputTouched : plan_.inputTouched;
    std::vector<uint32_t> blocks;
    for (uint32_t b = 0; b < plan_.blocks; ++b) {
      if ((!isSingle || b == rank_) && flags[b] == touched) blocks.push_back(b);
    }
    return blocks;
  }

  // A run of blocks is one range of memory: its blocks of the own output are staged together or not
  // at all.
  void evenRuns() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (const Step& step : plan_.steps) {
        for (uint32_t i = 0; i < step.segments; ++i) {
          const Segment& segment = plan_.segmentPool[step.segment + i];
          for (uint32_t o = 0; segment.run > 1 && o < uint32_t{step.targets} + step.sources; ++o) {
            const Ref& ref = plan_.ref(step, i, o);
            if (plan_.rankOf(step, o) != rank_ || ref.buffer != Buffer::kOutput) continue;
            changed = touchTogether(ref.block, segment.run) || changed;
          }
        }
      }
    }
  }

  bool touchTogether(uint32_t first, uint32_t run) {
    const auto begin = plan_.outputTouched.begin() + first;
    const auto count = std::count(begin, begin + run, true);
    if (count == 0 || count == run) return false;
    std::fill(begin, begin + run, true);
    return true;
  }

  // What a stage step copies is known when all rounds are lowered.
  void fillStage(int32_t index, const std::vector<uint32_t>& blocks) {
    Step& step = plan_.steps[static_cast<size_t>(index)];
    const Buffer buffer = step.kind == StepKind::kStageIn ? Buffer::kInput : Buffer::kOutput;
    Move move{rank_, {rank_}, {rank_}, {}};
    for (uint32_t b : blocks) {
      move.refs.push_back({buffer, b});
      move.refs.push_back({buffer, b});
    }
    builder_.segments(step, move, [&](uint32_t s) {
      return std::vector<Ref>{move.ref(s, 0), move.ref(s, 1)};
    });
  }

  int32_t stage(StepKind kind) {
    const bool out = kind != StepKind::kStageIn;
    std::set<uint32_t> deps;
    if (out) {
      for (uint32_t s = 0; s < plan_.steps.size(); ++s) {
        if (plan_.steps[s].lane != 0) deps.insert(s);
      }
    }
    Step step;
    step.kind = kind;
    step.targets = 1;
    step.sources = 1;
    const int32_t index = builder_.emit(step, {rank_, rank_}, deps);
    if (out) return index;
    // In place, what is staged may not be overwritten by a message before.
    for (uint32_t b : stagedBlocks(false, false)) {
      hazards_.record({{Buffer::kInput, b}, false, true, index, -1});
    }
    return index;
  }

  void finish() {
    plan_.scratchBlocks = cells_ > plan_.blocks || usesScratch() ? cells_ : 0;
    builder_.finish();
    plan_.directPeers.assign(direct_.begin(), direct_.end());
    plan_.messagePeers.assign(message_.begin(), message_.end());
  }

  bool usesScratch() const {
    return std::any_of(plan_.refs.begin(), plan_.refs.end(),
                       [](const Ref& ref) { return ref.buffer == Buffer::kScratch; });
  }

  const OpDesc& op_;
  const Schedule& schedule_;
  const uint32_t rank_;
  const std::function<PeerLink(uint32_t)>& linkOf_;
  PlanBuilder builder_;
  Plan& plan_ = builder_.plan;
  uint32_t round_ = 0;
  bool hasInput_ = true;
  bool hasOutput_ = true;
  uint32_t cells_ = 0;
  Hazards hazards_;
  std::vector<Exposure> exposures_;
  std::set<uint32_t> direct_;
  std::set<uint32_t> message_;
  std::vector<uint32_t> messagesOfRound_;  // steps
  std::vector<uint32_t> messagesBefore_;   // of the last round that had any
};

}  // namespace

const char* stepName(StepKind kind) {
  static const char* const names[] = {"StageIn", "StageOut", "StageAside", "Combine", "Put",
                                      "Take",    "Open",     "AwaitOpen",  "Close",   "AwaitClose"};
  return names[static_cast<size_t>(kind)];
}

std::vector<uint32_t> peersOf(const Schedule& schedule, uint32_t rank) {
  std::set<uint32_t> peers;
  const uint32_t rounds = schedule.rounds();
  for (uint32_t round = 0; round < rounds; ++round) {
    for (uint32_t owner : schedule.group(round, rank)) {
      std::vector<Move> moves;
      schedule.moves(round, owner, moves);
      for (const Move& move : moves) {
        bool touches = owner == rank;
        for (size_t o = 0; o < move.operands(); ++o) touches = touches || move.rankOf(o) == rank;
        if (!touches) continue;
        // Owners exchange with their operands; operands only with the owner.
        if (owner != rank) {
          peers.insert(owner);
          continue;
        }
        for (size_t o = 0; o < move.operands(); ++o) peers.insert(move.rankOf(o));
      }
    }
  }
  peers.erase(rank);
  return {peers.begin(), peers.end()};
}

Plan lower(const OpDesc& op, const Schedule& schedule, uint32_t rank,
           const std::function<PeerLink(uint32_t)>& linkOf) {
  return Lowering(op, schedule, rank, linkOf).run();
}

}  // namespace hccl::plan
