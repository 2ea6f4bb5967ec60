#include "src/verify/sim.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <unordered_map>

#include "src/verify/memory_map.h"
#include "src/verify/step_reader.h"

namespace hccl::verify {
namespace {

using plan::Plan;
using plan::Step;
using plan::StepKind;

enum class EventKind : uint8_t { kStepEnd, kWake };

struct Event {
  double time = 0;
  uint64_t order = 0;  // equal times in the order of their making
  EventKind kind = EventKind::kWake;
  uint32_t rank = 0;
  uint16_t lane = 0;
  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : order > other.order;
  }
};

struct Lane {
  uint64_t iteration = 0;
  uint32_t position = 0;
  bool busy = false;
};

// What has gone from one rank to another and not been used.
struct Pair {
  std::deque<double> arrivals;  // of messages
  uint32_t opens = 0;
  uint32_t closes = 0;
};

class Simulation {
 public:
  Simulation(const World& world, Network network, std::vector<Span>* spans)
      : world_(world),
        map_(world,
             {allows(world.op.type, Overlap::kSeparate) ? Overlap::kSeparate : Overlap::kInPlace,
              Windows::kUser}),
        read_(world, map_),
        network_(std::move(network)),
        spans_(spans),
        lanes_(world.ranks),
        positionOf_(world.ranks),
        pairs_(world.ranks) {}

  SimResult run() {
    result_.firstEnd = -1;
    for (uint32_t r = 0; r < world_.ranks; ++r) {
      const Plan& plan = world_.plans[r];
      lanes_[r].resize(plan.lanes);
      positionOf_[r].resize(plan.steps.size());
      for (const std::vector<uint32_t>& steps : plan.laneSteps) {
        for (uint32_t i = 0; i < steps.size(); ++i) positionOf_[r][steps[i]] = i;
      }
      push(0, EventKind::kWake, r, 0);
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      if (event.kind == EventKind::kStepEnd) {
        lanes_[event.rank][event.lane].busy = false;
        finishStep(event.rank, event.lane);
      }
      advance(event.rank);
    }
    if (ended_ < world_.ranks) result_.error = "a rank waits for ever";
    result_.firstEnd = std::max(result_.firstEnd, 0.0);
    return result_;
  }

 private:
  void push(double time, EventKind kind, uint32_t rank, uint16_t lane) {
    events_.push({time, order_++, kind, rank, lane});
  }

  const Step* next(uint32_t r, uint16_t l) const {
    const Lane& lane = lanes_[r][l];
    const std::vector<uint32_t>& steps = world_.plans[r].laneSteps[l];
    if (lane.iteration >= world_.geometry[r].iterations || steps.empty()) return nullptr;
    return &world_.plans[r].steps[steps[lane.position]];
  }

  void finishStep(uint32_t r, uint16_t l) {
    Lane& lane = lanes_[r][l];
    if (++lane.position < world_.plans[r].laneSteps[l].size()) return;
    lane.position = 0;
    ++lane.iteration;
    if (lane.iteration < world_.geometry[r].iterations) return;
    for (size_t other = 0; other < lanes_[r].size(); ++other) {
      if (next(r, static_cast<uint16_t>(other)) != nullptr) return;
    }
    ++ended_;
    result_.seconds = std::max(result_.seconds, now_);
    if (result_.firstEnd < 0) result_.firstEnd = now_;
  }

  void advance(uint32_t r) {
    for (bool moved = true; moved;) {
      moved = false;
      const auto lanes = static_cast<uint16_t>(lanes_[r].size());
      for (uint16_t l = 0; l < lanes; ++l) {
        while (!lanes_[r][l].busy && next(r, l) != nullptr && start(r, l)) moved = true;
      }
    }
  }

  bool ready(uint32_t r, const Lane& lane, const Step& step) const {
    if (lane.position == 0) {
      const auto lanes = static_cast<uint16_t>(lanes_[r].size());
      for (uint16_t l = 0; l < lanes; ++l) {
        if (next(r, l) != nullptr && lanes_[r][l].iteration + 1 < lane.iteration) return false;
      }
    }
    const Plan& plan = world_.plans[r];
    for (uint32_t i = 0; i < step.deps; ++i) {
      const uint32_t dep = plan.deps[step.dep + i];
      const Lane& other = lanes_[r][plan.steps[dep].lane];
      if (other.iteration < lane.iteration ||
          (other.iteration == lane.iteration && other.position <= positionOf_[r][dep])) {
        return false;
      }
    }
    return true;
  }

  uint64_t bytes(uint32_t r, const Step& step, uint64_t c) const {
    uint64_t elements = 0;
    for (uint32_t i = 0; i < step.segments; ++i) {
      elements += read_.length(r, read_.segment(r, step, i), c);
    }
    return elements * world_.geometry[r].elementSize;
  }

  // Starts the lane's next step; it ends at once or by an event. False when it has to wait.
  bool start(uint32_t r, uint16_t l) {
    Lane& lane = lanes_[r][l];
    const Step& step = *next(r, l);
    if (!ready(r, lane, step)) return false;
    double end = now_;
    const bool contact = read_.hasContact(r, step, lane.iteration);
    const auto size = static_cast<double>(bytes(r, step, lane.iteration));
    switch (step.kind) {
      case StepKind::kStageIn:
      case StepKind::kStageOut:
      case StepKind::kStageAside:
        break;  // windows are the caller's memory
      case StepKind::kCombine:
        end += combineSeconds(r, step, size);
        break;
      case StepKind::kPut:
        if (contact) end = put(r, step, size);
        break;
      case StepKind::kTake:
        if (contact && !take(pairs_[step.peer][r])) return false;
        break;
      default:
        if (contact && !signal(r, step)) return false;
    }
    ++result_.steps;
    if (spans_ != nullptr && end > now_) spans_->push_back({r, l, step.kind, step.peer, now_, end});
    if (end > now_) {
      lane.busy = true;
      push(end, EventKind::kStepEnd, r, l);
    } else {
      finishStep(r, l);
    }
    return true;
  }

  double put(uint32_t r, const Step& step, double size) {
    const Network::Transfer transfer = network_.send(r, step.peer, size, now_);
    pairs_[r][step.peer].arrivals.push_back(transfer.arrived);
    push(transfer.arrived, EventKind::kWake, step.peer, 0);
    ++result_.transfers;
    return transfer.sent;
  }

  bool take(Pair& pair) const {
    if (pair.arrivals.empty() || pair.arrivals.front() > now_) return false;
    pair.arrivals.pop_front();
    return true;
  }

  // Signals take no time of their own: the access that they permit pays for the latency.
  bool signal(uint32_t r, const Step& step) {
    const bool open = step.kind == StepKind::kOpen || step.kind == StepKind::kAwaitOpen;
    if (step.kind == StepKind::kOpen || step.kind == StepKind::kClose) {
      Pair& to = pairs_[r][step.peer];
      ++(open ? to.opens : to.closes);
      push(now_, EventKind::kWake, step.peer, 0);
      return true;
    }
    Pair& from = pairs_[step.peer][r];
    uint32_t& count = open ? from.opens : from.closes;
    if (count == 0) return false;
    --count;
    return true;
  }

  // Operands on peers stream in side by side, each over its own link.
  double combineSeconds(uint32_t r, const Step& step, double size) {
    double slowest = 0;
    for (uint32_t o = 0; o < uint32_t{step.targets} + step.sources; ++o) {
      const uint32_t peer = world_.plans[r].operandRanks[step.operand + o];
      if (peer == r) continue;
      const LevelCost& cost = network_.level(r, peer);
      slowest = std::max(slowest, cost.alpha + cost.beta * size);
      ++result_.transfers;
    }
    return slowest + network_.gamma() * size * (step.sources - 1);
  }

  const World& world_;
  MemoryMap map_;
  StepReader read_;
  Network network_;
  std::vector<Span>* spans_;
  std::vector<std::vector<Lane>> lanes_;
  std::vector<std::vector<uint32_t>> positionOf_;
  std::vector<std::unordered_map<uint32_t, Pair>> pairs_;  // by sender
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  double now_ = 0;
  uint64_t order_ = 0;
  uint32_t ended_ = 0;
  SimResult result_;
};

}  // namespace

SimResult simulate(const World& world, Network network, std::vector<Span>* spans) {
  return Simulation(world, std::move(network), spans).run();
}

}  // namespace hccl::verify
