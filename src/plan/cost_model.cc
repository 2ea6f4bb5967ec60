#include "src/plan/cost_model.h"

#include <algorithm>

namespace hccl::plan {
namespace {

constexpr CostClass kClasses[] = {CostClass::kShared, CostClass::kRdma, CostClass::kTcp};
bool crossesServers(const Group& group, const Topology& topology) {
  return std::any_of(group.ranks.begin(), group.ranks.end(), [&](uint32_t rank) {
    return topology.serverOf[rank] != topology.serverOf[group.ranks[0]];
  });
}

// What a member does in one round. Data in blocks.
struct Load {
  double contacts = 0;
  double in = 0;
  double out = 0;
  double touched = 0;
  double dirty = 0;
  bool waits = false;
};

// Runs of neighbouring blocks: each is a message of its own.
double piecesOf(const Move& move) {
  double pieces = 1;
  for (size_t s = 1; s < move.segments(); ++s) {
    for (size_t o = 0; o < move.operands(); ++o) {
      if (move.ref(s, o).block == move.ref(s - 1, o).block + 1) continue;
      ++pieces;
      break;
    }
  }
  return pieces;
}

bool isTarget(const Move& move, uint32_t member) {
  return std::find(move.targets.begin(), move.targets.end(), member) != move.targets.end();
}

// The moves of a stage's group, added up round by round.
class Counter {
 public:
  Counter(const StageAlgorithm& algorithm, const StageArgs& args, const LinkConstants& link,
          bool messages, double crowding)
      : algorithm_(algorithm),
        args_(args),
        link_(link),
        messages_(messages),
        crowding_(crowding),
        waits_(args.size) {}

  ChoiceTerms run(bool crosses) {
    for (uint32_t round = 0; round < algorithm_.rounds(args_); ++round) {
      std::vector<Load> loads(args_.size);
      for (uint32_t member = 0; member < args_.size; ++member) {
        moves_.clear();
        algorithm_.moves(args_, round, member, moves_);
        for (const Move& move : moves_) count(move, loads);
      }
      add(loads);
    }
    const double most = *std::max_element(waits_.begin(), waits_.end());
    // Ranks that share a processor wait for their turns; else the longest chain counts.
    const double shared = crowding_ > 1 ? most * crowding_ * link_.turn : 0;
    terms_.fixed += std::max(steps_ * link_.step, shared);
    if (crosses) terms_.fixed += steps_ * link_.network;
    const double blocks = algorithm_.blocks(args_);
    terms_.cached /= blocks;
    terms_.streamed /= blocks;
    return terms_;
  }

 private:
  void count(const Move& move, std::vector<Load>& loads) {
    const auto blocks = static_cast<double>(move.segments());
    const double pieces = piecesOf(move);
    Load& own = loads[move.owner];
    bool reads = false;
    bool writes = false;
    for (size_t o = 0; o < move.operands(); ++o) {
      const uint32_t member = move.rankOf(o);
      const bool target = o < move.targets.size();
      own.touched += blocks;
      if (member == move.owner) continue;
      Load& peer = loads[member];
      // A peer whose memory is mapped is met once, however many of its buffers are used.
      const bool met = !messages_ && !target && isTarget(move, member);
      own.contacts += met ? 0 : pieces;
      peer.contacts += met ? 0 : pieces;
      (target ? own.out : own.in) += blocks;
      (target ? peer.in : peer.out) += blocks;
      (target ? writes : reads) = true;
      if (!target && move.ref(0, o).buffer != Buffer::kInput) own.dirty += blocks;
    }
    if (!reads && !writes) return;
    own.waits = true;
    // A message lands where it belongs; only what is combined is read again.
    if (messages_ && move.sources.size() == 1) own.touched -= 2 * blocks;
    roundTrips_ = std::max(roundTrips_, messages_ && reads && writes ? 2.0 : 1.0);
  }

  // The busiest member, or all of them on the processors that they share.
  template <typename Of>
  double effective(const std::vector<Load>& loads, Of of) const {
    double most = 0;
    double sum = 0;
    for (const Load& load : loads) {
      most = std::max(most, of(load));
      sum += of(load);
    }
    return std::max(most, sum / static_cast<double>(loads.size()) * crowding_);
  }

  void add(const std::vector<Load>& loads) {
    steps_ += roundTrips_;
    for (size_t m = 0; m < loads.size(); ++m) waits_[m] += loads[m].waits ? roundTrips_ : 0;
    roundTrips_ = 0;
    terms_.fixed += link_.contact * effective(loads, [](const Load& l) { return l.contacts; });
    // A network card works in both directions at once, a processor does not.
    const auto wireOf = [&](const Load& l) {
      return link_.duplex ? std::max(l.in, l.out) : l.in + l.out;
    };
    // One thread serves the busiest member's connections.
    double busiest = 0;
    for (const Load& load : loads) busiest = std::max(busiest, wireOf(load));
    const double wire = std::max(effective(loads, wireOf), link_.alone * busiest);
    if (messages_) {
      terms_.cached += link_.wire * wire;
      terms_.streamed += link_.streamedWire * wire;
    }
    const double dirty = messages_ ? 0 : link_.dirty;
    terms_.cached +=
        effective(loads, [&](const Load& l) { return link_.touch * l.touched + dirty * l.dirty; });
    terms_.streamed += effective(
        loads, [&](const Load& l) { return link_.streamedTouch * l.touched + dirty * l.dirty; });
  }

  const StageAlgorithm& algorithm_;
  const StageArgs& args_;
  const LinkConstants& link_;
  const bool messages_;
  const double crowding_;
  std::vector<double> waits_;
  std::vector<Move> moves_;
  double steps_ = 0;
  double roundTrips_ = 0;
  ChoiceTerms terms_;
};

// Groups of a stage are alike but for their size and their part of the data.
const Group& largestGroup(const Stage& stage) {
  return *std::max_element(
      stage.groups.begin(), stage.groups.end(),
      [](const Group& a, const Group& b) { return a.ranks.size() < b.ranks.size(); });
}

}  // namespace

const char* costClassName(CostClass cls) {
  static const char* const names[] = {"shared", "rdma", "tcp"};
  return names[static_cast<size_t>(cls)];
}

std::optional<CostClass> costClassOf(std::string_view name) {
  for (CostClass cls : kClasses) {
    if (name == costClassName(cls)) return cls;
  }
  return std::nullopt;
}

LinkConstants constantsOf(CostClass cls) {
  switch (cls) {
    case CostClass::kShared:
      return {.step = 0.4e-6,
              .turn = 0.9e-6,
              .network = 0,
              .contact = 0.2e-6,
              .wire = 0,
              .touch = 17e-12,
              .dirty = 34e-12,
              .streamedWire = 0,
              .streamedTouch = 50e-12,
              .largeFrom = 32ULL << 20};
    case CostClass::kRdma:
      return {.step = 3e-6,
              .turn = 3e-6,
              .network = 2e-6,
              .contact = 1e-6,
              .wire = 40e-12,
              .touch = 17e-12,
              .dirty = 0,
              .duplex = true,
              .streamedWire = 90e-12,
              .streamedTouch = 50e-12,
              .largeFrom = 8ULL << 20};
    case CostClass::kTcp:
      break;
  }
  return {.step = 3e-6,
          .turn = 3e-6,
          .network = 20e-6,
          .contact = 2.75e-6,
          .wire = 107e-12,
          .touch = 0,
          .dirty = 0,
          .alone = 1.3,
          .streamedWire = 250e-12,
          .streamedTouch = 50e-12,
          .largeFrom = 8ULL << 20};
}

ChoiceTerms termsOf(const OpDesc& op, const Topology& topology, const Choice& choice,
                    const LevelClasses& classes) {
  const Schedule schedule = compose(op, topology, choice);
  size_t fullest = 1;
  for (const auto& server : topology.servers) fullest = std::max(fullest, server.size());
  ChoiceTerms terms;
  terms.streamedFrom = UINT64_MAX;
  for (const Stage& stage : schedule.stages) {
    if (stage.groups.empty()) continue;
    const Group& group = largestGroup(stage);
    size_t blocks = 0;
    for (const std::vector<uint32_t>& part : group.blocks) blocks += part.size();
    const double share = static_cast<double>(blocks) / static_cast<double>(schedule.blocks);
    const bool crosses = crossesServers(group, topology);
    const CostClass cls = crosses ? classes.between : classes.inside;
    const StageArgs args = argsOf(stage, group);
    const LinkConstants link = constantsOf(cls);
    const ChoiceTerms part =
        Counter(*stage.row->algorithm, args, link, cls != CostClass::kShared, classes.crowding)
            .run(crosses);
    terms.streamedFrom = std::min(terms.streamedFrom, link.largeFrom / 2 / fullest);
    terms.fixed += part.fixed;
    terms.cached += share * part.cached;
    terms.streamed += share * part.streamed;
  }
  return terms;
}

double estimate(const OpDesc& op, const Topology& topology, const Choice& choice, uint64_t bytes,
                const LevelClasses& classes) {
  return termsOf(op, topology, choice, classes).seconds(bytes);
}

}  // namespace hccl::plan
