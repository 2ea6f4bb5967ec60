#include "src/plan/lowering.h"

#include <algorithm>
#include <map>
#include <set>

namespace hccl::plan {
namespace {

// One access to this rank's memory that a later one may have to wait for.
struct Access {
  Ref ref;
  bool write = false;
  bool aliases = true;  // input and output may be the same memory at this block
  int32_t step = -1;    // local step that makes it, or
  int32_t exposure = -1;  // index of the exposure through which a direct peer makes it
};

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
      : op_(op), schedule_(schedule), rank_(rank), linkOf_(linkOf) {
    plan_.name = schedule.name;
    plan_.algorithmId = schedule.id;
    plan_.rank = rank;
    plan_.blocks = schedule.blocks;
    plan_.vector = isVectorOp(op.type);
    plan_.pairRelative = isAllToAll(op.type);
    shapes();
    cells_ = schedule.blocks;
  }

  Plan run() {
    stage(StepKind::kStageIn);
    plan_.rounds = schedule_.rounds();
    for (uint32_t round = 0; round < plan_.rounds; ++round) lowerRound(round);
    for (size_t e = 0; e < exposures_.size(); ++e) awaitClose(static_cast<int32_t>(e));
    stage(StepKind::kStageOut);
    finish();
    return std::move(plan_);
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

  // ---- emission ----

  uint16_t lane(uint32_t peer, bool receive) {
    const auto [it, fresh] = lanes_.emplace(std::pair(peer, receive), plan_.lanes);
    if (fresh) ++plan_.lanes;
    return it->second;
  }

  int32_t emit(Step step, const std::vector<uint32_t>& operandRanks, std::set<uint32_t> deps = {}) {
    step.round = static_cast<uint16_t>(round_);
    step.operand = static_cast<uint32_t>(plan_.operandRanks.size());
    plan_.operandRanks.insert(plan_.operandRanks.end(), operandRanks.begin(), operandRanks.end());
    step.dep = static_cast<uint32_t>(plan_.deps.size());
    for (uint32_t dep : deps) {
      if (plan_.steps[dep].lane != step.lane) plan_.deps.push_back(dep);  // own lane runs in order
    }
    step.deps = static_cast<uint32_t>(plan_.deps.size()) - step.dep;
    plan_.steps.push_back(step);
    return static_cast<int32_t>(plan_.steps.size()) - 1;
  }

  // Segments of a move, neighbours merged where all operands allow it; the same on all ranks.
  std::vector<std::pair<uint32_t, uint32_t>> runsOf(const Move& move) const {
    std::vector<std::pair<uint32_t, uint32_t>> runs;  // first segment, length
    for (uint32_t s = 0; s < move.segments(); ++s) {
      bool joins = plan_.vector && !runs.empty();
      for (size_t o = 0; joins && o < move.operands(); ++o) {
        const Ref& last = move.ref(s - 1, o);
        const Ref& next = move.ref(s, o);
        joins = last.buffer == next.buffer && last.block + 1 == next.block;
      }
      if (joins) {
        ++runs.back().second;
      } else {
        runs.emplace_back(s, 1);
      }
    }
    return runs;
  }

  // Sets the step's segments: for each run the refs that `pick(segment)` returns.
  template <typename Pick>
  void segments(Step& step, const Move& move, Pick pick) {
    step.segment = static_cast<uint32_t>(plan_.segmentPool.size());
    for (const auto& [first, length] : runsOf(move)) {
      Segment segment;
      segment.run = length;
      segment.refs = static_cast<uint32_t>(plan_.refs.size());
      lengthOf(move, first, segment);
      for (const Ref& ref : pick(first)) plan_.refs.push_back(ref);
      plan_.segmentPool.push_back(segment);
    }
    step.segments = static_cast<uint32_t>(plan_.segmentPool.size()) - step.segment;
  }

  void lengthOf(const Move& move, uint32_t s, Segment& segment) const {
    for (size_t o = 0; o < move.operands(); ++o) {
      if (plan_.pairRelative && move.rankOf(o) != rank_) continue;
      segment.lengthBlock = move.ref(s, o).block;
      segment.lengthOutput = move.ref(s, o).buffer == Buffer::kOutput;
      return;
    }
  }

  // ---- hazards ----

  bool conflicts(const Access& a, const Access& b) const {
    if (!(a.write || b.write) || a.ref.block != b.ref.block) return false;
    if (a.ref.buffer == b.ref.buffer) return true;
    const bool userMemory = a.ref.buffer != Buffer::kScratch && b.ref.buffer != Buffer::kScratch;
    return userMemory && !plan_.pairRelative && a.aliases && b.aliases;
  }

  // Steps that must have finished before the access; closes are awaited in lane 0 as needed.
  void require(const Access& access, std::set<uint32_t>& deps) {
    for (size_t i = 0; i < accesses_.size(); ++i) {
      if (!conflicts(accesses_[i], access)) continue;
      if (accesses_[i].exposure >= 0) {
        deps.insert(static_cast<uint32_t>(awaitClose(accesses_[i].exposure)));
      } else {
        deps.insert(static_cast<uint32_t>(accesses_[i].step));
      }
    }
  }

  void record(const Access& access) {
    // A write supersedes what it had to wait for.
    if (access.write && access.exposure < 0) {
      std::erase_if(accesses_, [&](const Access& a) {
        return a.ref == access.ref && a.step != access.step && a.aliases == access.aliases;
      });
    }
    accesses_.push_back(access);
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
    exposure.awaited = emit(step, {});
    return exposure.awaited;
  }

  // A block of the input onto the same block of the output: either the same memory, and nothing is written,
  // or memory that is not shared.
  static bool selfCopy(const Move& move) {
    if (move.sources.size() != 1 || move.targets.size() != 1 || move.targets[0] != move.sources[0]) {
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
    round_ = round;
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
    std::sort(touching.begin(), touching.end(), [this](const Move& a, const Move& b) {
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
  }

  // A direct peer's move touches this rank: make the data final, then open.
  void expose(const Move& move) {
    std::set<uint32_t> deps;
    std::vector<Access> list = accessesOf(move);
    for (const Access& access : list) require(access, deps);
    Step step;
    step.kind = StepKind::kOpen;
    step.peer = move.owner;
    segments(step, move, [](uint32_t) { return std::vector<Ref>{}; });
    emit(step, {}, deps);
    exposures_.push_back({move.owner, step.segment, step.segments, static_cast<uint16_t>(round_), -1});
    for (Access& access : list) {
      noteRemote(access.ref);
      access.exposure = static_cast<int32_t>(exposures_.size()) - 1;
      record(access);
    }
    direct_.insert(move.owner);
  }

  // A message peer's move reads from this rank: send what it reads.
  void putForOwner(const Move& move) {
    for (size_t o = move.targets.size(); o < move.operands(); ++o) {
      if (move.rankOf(o) == rank_) put(move, o, move.owner);
    }
  }

  int32_t put(const Move& move, size_t operand, uint32_t peer) {
    std::set<uint32_t> deps;
    for (size_t s = 0; s < move.segments(); ++s) {
      require({move.ref(s, operand), false, true, -1, -1}, deps);
    }
    Step step;
    step.kind = StepKind::kPut;
    step.peer = peer;
    step.lane = lane(peer, false);
    step.sources = 1;
    segments(step, move, [&](uint32_t s) { return std::vector<Ref>{move.ref(s, operand)}; });
    const int32_t index = emit(step, {rank_}, deps);
    for (size_t s = 0; s < move.segments(); ++s) {
      record({move.ref(s, operand), false, true, index, -1});
    }
    message_.insert(peer);
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
    step.lane = lane(peer, true);
    step.targets = 1;
    segments(step, move, [&](uint32_t s) { return std::vector<Ref>{move.ref(s, operand)}; });
    const int32_t index = emit(step, {rank_}, deps);
    for (size_t s = 0; s < move.segments(); ++s) {
      record({move.ref(s, operand), true, true, index, -1});
    }
    message_.insert(peer);
  }

  // Receives source `operand` of an own move into cells; returns the first cell, one a block.
  uint32_t takeIntoCells(const Move& move, uint32_t peer, std::set<uint32_t>& deps) {
    const uint32_t first = cells_;
    cells_ += static_cast<uint32_t>(move.segments());
    Step step;
    step.kind = StepKind::kTake;
    step.peer = peer;
    step.lane = lane(peer, true);
    step.targets = 1;
    segments(step, move, [&](uint32_t s) { return std::vector<Ref>{{Buffer::kScratch, first + s}}; });
    deps.insert(static_cast<uint32_t>(emit(step, {rank_})));
    message_.insert(peer);
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
      segments(await, move, [](uint32_t) { return std::vector<Ref>{}; });
      emit(await, {});
      direct_.insert(peer);
    }
    Step step;
    step.kind = StepKind::kCombine;
    step.targets = static_cast<uint16_t>(targets);
    step.sources = static_cast<uint16_t>(operands.size() - targets);
    std::vector<uint32_t> ranks;
    for (const auto& operand : operands) ranks.push_back(operand.first);
    segments(step, move, [&](uint32_t s) {
      std::vector<Ref> refs;
      for (size_t i = 0; i < operands.size(); ++i) {
        refs.push_back(operands[i].second >= 0
                           ? Ref{Buffer::kScratch, static_cast<uint32_t>(operands[i].second) + s}
                           : move.ref(s, operandOf[i]));
      }
      return refs;
    });
    const int32_t index = emit(step, ranks, deps);
    for (Access access : accessesOf(move)) {
      access.step = index;
      record(access);
    }
    for (uint32_t peer : directPeers) {
      Step close;
      close.kind = StepKind::kClose;
      close.peer = peer;
      close.segment = step.segment;
      close.segments = step.segments;
      emit(close, {});
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

  // The blocks of the caller's buffers that this rank brings in or takes out.
  std::vector<uint32_t> stagedBlocks(bool out) const {
    if (out ? !hasOutput_ : !hasInput_) return {};
    const BufferShape shape = out ? plan_.outputShape : plan_.inputShape;
    if (shape == BufferShape::kSingle) return {rank_};
    std::vector<uint32_t> blocks;
    for (uint32_t b = 0; b < plan_.blocks; ++b) blocks.push_back(b);
    return blocks;
  }

  void stage(StepKind kind) {
    const bool out = kind == StepKind::kStageOut;
    Move move{rank_, {rank_}, {rank_}, {}};
    const Buffer buffer = out ? Buffer::kOutput : Buffer::kInput;
    for (uint32_t b : stagedBlocks(out)) {
      move.refs.push_back({buffer, b});
      move.refs.push_back({buffer, b});
    }
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
    segments(step, move, [&](uint32_t s) {
      return std::vector<Ref>{move.ref(s, 0), move.ref(s, 1)};
    });
    emit(step, {rank_, rank_}, deps);
  }

  void finish() {
    plan_.scratchBlocks = cells_ > plan_.blocks || usesScratch() ? cells_ : 0;
    plan_.laneSteps.resize(plan_.lanes);
    for (uint32_t s = 0; s < plan_.steps.size(); ++s) plan_.laneSteps[plan_.steps[s].lane].push_back(s);
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
  Plan plan_;
  uint32_t round_ = 0;
  bool hasInput_ = true;
  bool hasOutput_ = true;
  uint32_t cells_ = 0;
  std::map<std::pair<uint32_t, bool>, uint16_t> lanes_;
  std::vector<Access> accesses_;
  std::vector<Exposure> exposures_;
  std::set<uint32_t> direct_;
  std::set<uint32_t> message_;
};

}  // namespace

const char* stepName(StepKind kind) {
  static const char* const names[] = {"StageIn", "StageOut",  "Combine", "Put",       "Take",
                                      "Open",    "AwaitOpen", "Close",   "AwaitClose"};
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
