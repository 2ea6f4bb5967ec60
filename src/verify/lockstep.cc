#include "src/verify/lockstep.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

namespace hccl::verify {
namespace {

using plan::Step;
using plan::StepKind;
using Times = std::vector<double>;  // by rank

class Lockstep {
 public:
  Lockstep(const plan::Plan& plan, const plan::Geometry& geometry, uint32_t ranks,
           Symmetry symmetry, Network network)
      : plan_(plan),
        geometry_(geometry),
        ranks_(ranks),
        symmetry_(symmetry),
        network_(std::move(network)),
        width_(network_.uniform() ? 1 : ranks),
        lanes_(plan.lanes, Times(width_, 0)),
        lastUse_(plan.steps.size(), 0),
        ends_(plan.steps.size()),
        order_(width_) {
    std::iota(order_.begin(), order_.end(), 0U);
  }

  SimResult run() {
    for (uint32_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      for (uint32_t i = 0; i < waits(step); ++i) lastUse_[plan_.deps[step.dep + i]] = s;
    }
    for (uint32_t s = 0; s < plan_.steps.size() && result_.error.empty(); ++s) runStep(s);
    result_.firstEnd = 1e300;
    for (uint32_t r = 0; r < width_; ++r) {
      double end = 0;
      for (const Times& lane : lanes_) end = std::max(end, lane[r]);
      result_.seconds = std::max(result_.seconds, end);
      result_.firstEnd = std::min(result_.firstEnd, end);
    }
    return result_;
  }

 private:
  // A StageOut waits for every message, which is the end of all lanes: nothing to remember.
  static uint32_t waits(const Step& step) { return plan::isStage(step.kind) ? 0 : step.deps; }

  void runStep(uint32_t s) {
    const Step& step = plan_.steps[s];
    Times& time = lanes_[step.lane];
    for (uint32_t i = 0; i < waits(step); ++i) {
      const uint32_t dep = plan_.deps[step.dep + i];
      const Times& end = ends_[dep];
      for (uint32_t r = 0; r < width_; ++r) time[r] = std::max(time[r], end[r]);
      if (lastUse_[dep] == s) giveBack(std::move(ends_[dep]));
    }
    uint64_t elements = 0;
    for (uint32_t i = 0; i < step.segments; ++i) {
      const plan::Segment& segment = plan_.segmentPool[step.segment + i];
      elements += geometry_.length(segment.lengthOutput, segment.lengthBlock, segment.run, 0);
    }
    const auto bytes = static_cast<double>(elements * geometry_.elementSize);
    if (step.kind == StepKind::kPut) {
      put(step, bytes, time);
    } else if (step.kind == StepKind::kTake) {
      take(step, time);
    } else if (step.kind == StepKind::kCombine) {
      const double seconds = network_.gamma() * bytes * (step.sources - 1);
      for (double& t : time) t += seconds;
    }
    result_.steps += ranks_;
    if (lastUse_[s] > s) {
      ends_[s] = fresh();
      std::copy(time.begin(), time.end(), ends_[s].begin());
    }
  }

  // The peer's number as rank 0 sees it names the channel: rank 0's Put to p is answered by the
  // Take of the rank that has rank 0 where p's mirror image is.
  void put(const Step& step, double bytes, Times& time) {
    Times arrived = fresh();
    if (network_.sharesUplinks()) {  // who is ready first goes first
      std::iota(order_.begin(), order_.end(), 0U);
      std::stable_sort(order_.begin(), order_.end(),
                       [&](uint32_t a, uint32_t b) { return time[a] < time[b]; });
    }
    for (uint32_t r : order_) {
      const uint32_t to = renamed(symmetry_, step.peer, r, ranks_);
      const Network::Transfer transfer = network_.send(r, to, bytes, time[r]);
      time[r] = transfer.sent;
      arrived[width_ == 1 ? 0 : to] = transfer.arrived;
    }
    result_.transfers += ranks_;
    channels_[step.peer].push_back(std::move(arrived));
  }

  void take(const Step& step, Times& time) {
    const uint32_t channel =
        symmetry_ == Symmetry::kXor ? step.peer : (ranks_ - step.peer) % ranks_;
    std::deque<Times>& waiting = channels_[channel];
    if (waiting.empty()) {
      result_.error = "a rank waits for ever";
      return;
    }
    for (uint32_t r = 0; r < width_; ++r) time[r] = std::max(time[r], waiting.front()[r]);
    giveBack(std::move(waiting.front()));
    waiting.pop_front();
  }

  // Arrays come and go with every step: they are used again, since fresh pages cost more than what
  // is written to them.
  Times fresh() {
    if (spare_.empty()) return Times(width_);
    Times times = std::move(spare_.back());
    spare_.pop_back();
    return times;
  }
  void giveBack(Times&& times) { spare_.push_back(std::move(times)); }

  const plan::Plan& plan_;
  const plan::Geometry& geometry_;
  const uint32_t ranks_;
  const Symmetry symmetry_;
  Network network_;
  // Where all links are alike and none is shared, all ranks do the same at the same time: one is
  // enough.
  const uint32_t width_;
  std::vector<Times> lanes_;
  std::vector<uint32_t> lastUse_;
  std::vector<Times> ends_;  // of steps that others wait for
  std::map<uint32_t, std::deque<Times>> channels_;
  std::vector<uint32_t> order_;
  std::vector<Times> spare_;
  SimResult result_;
};

}  // namespace

SimResult simulateLockstep(const plan::Plan& plan, const plan::Geometry& geometry, uint32_t ranks,
                           Symmetry symmetry, Network network) {
  return Lockstep(plan, geometry, ranks, symmetry, std::move(network)).run();
}

}  // namespace hccl::verify
