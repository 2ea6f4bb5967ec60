#include "src/verify/races.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/verify/clocks.h"

namespace hccl::verify {
namespace {

using plan::Step;
using plan::StepKind;

// What a direct peer's step does to a rank's memory under its n-th permission.
struct RemoteAccess {
  uint32_t peer = 0;
  uint32_t permission = 0;
  uint32_t step = 0;
  uint64_t iteration = 0;
  Place place;
  bool write = false;
};

// One access in terms of the owner's clocks: it begins after the step `start` has begun (local) or
// finished (remote), and has ended when the step at (endLane, end) has finished.
struct Access {
  Place place;
  bool write = false;
  int64_t peer = -1;  // remote when not negative
  uint32_t step = 0;  // the acting rank's
  uint64_t iteration = 0;
  uint32_t start = 0;  // the owner's step and iteration
  uint64_t startIteration = 0;
  uint16_t endLane = 0;
  uint32_t end = 0;  // UINT32_MAX: nothing in the operation waits for its end
};

struct Exposure {
  uint32_t open = 0;
  uint64_t iteration = 0;
  uint32_t closed = UINT32_MAX;  // ordinal of the AwaitClose in lane 0
};

class RaceFinder {
 public:
  RaceFinder(const World& world, const MemoryMap& map)
      : world_(world), read_(world, map), remote_(world.ranks) {}

  std::optional<Finding> run() {
    for (uint32_t r = 0; r < world_.ranks && !finding_; ++r) collectRemote(r);
    for (uint32_t r = 0; r < world_.ranks && !finding_; ++r) checkRank(r);
    return finding_;
  }

 private:
  // Walks lane 0: which permission each access to a peer's memory has.
  void collectRemote(uint32_t r) {
    const plan::Plan& plan = world_.plans[r];
    std::vector<uint32_t> permissions(world_.ranks, 0);
    std::vector<bool> open(world_.ranks, false);
    for (uint64_t c = 0; c < world_.geometry[r].iterations; ++c) {
      for (uint32_t s : plan.laneSteps[0]) {
        const Step& step = plan.steps[s];
        if (step.kind == StepKind::kAwaitOpen && read_.hasContact(r, step, c)) {
          ++permissions[step.peer];
          open[step.peer] = true;
        } else if (step.kind == StepKind::kClose && read_.hasContact(r, step, c)) {
          open[step.peer] = false;
        }
        if (step.kind != StepKind::kCombine) continue;
        read_.forAccesses(r, step, c, [&](uint32_t, uint32_t, const Place& place, bool write) {
          if (place.rank == r) return;
          if (!open[place.rank]) {
            report(Fault::kUnguarded, r, s, c, place, "the owner's permission until Close",
                   "none at this time");
            return;
          }
          remote_[place.rank].push_back({r, permissions[place.rank] - 1, s, c, place, write});
        });
      }
    }
  }

  void checkRank(uint32_t r) {
    const plan::Plan& plan = world_.plans[r];
    const uint64_t iterations = world_.geometry[r].iterations;
    const Clocks clocks(plan, iterations);
    if (!clocks.wellFormed()) {
      finding_ = Finding{Fault::kDeadlock,
                         r,
                         0,
                         0,
                         -1,
                         "",
                         "dependencies in an order",
                         "steps that depend on each other"};
      return;
    }
    std::vector<Access> accesses;
    for (uint64_t c = 0; c < iterations; ++c) {
      for (const std::vector<uint32_t>& lane : plan.laneSteps) {
        for (uint32_t s : lane) {
          read_.forAccesses(
              r, plan.steps[s], c, [&](uint32_t, uint32_t, const Place& place, bool write) {
                if (place.rank != r) return;
                accesses.push_back(
                    {place, write, -1, s, c, s, c, plan.steps[s].lane, clocks.ordinal(s, c)});
              });
        }
      }
    }
    if (!addRemote(r, clocks, accesses)) return;
    for (uint8_t space = 0; space < kSpaces && !finding_; ++space) {
      checkSpace(r, clocks, accesses, space);
    }
  }

  bool addRemote(uint32_t r, const Clocks& clocks, std::vector<Access>& accesses) {
    const plan::Plan& plan = world_.plans[r];
    std::vector<std::vector<Exposure>> exposures(world_.ranks);
    std::vector<uint32_t> closes(world_.ranks, 0);
    for (uint64_t c = 0; c < world_.geometry[r].iterations; ++c) {
      for (uint32_t s : plan.laneSteps[0]) {
        const Step& step = plan.steps[s];
        if (step.kind == StepKind::kOpen && read_.hasContact(r, step, c)) {
          exposures[step.peer].push_back({s, c, UINT32_MAX});
        } else if (step.kind == StepKind::kAwaitClose && read_.hasContact(r, step, c)) {
          std::vector<Exposure>& list = exposures[step.peer];
          const uint32_t n = closes[step.peer]++;
          if (n < list.size()) list[n].closed = clocks.ordinal(s, c);
        }
      }
    }
    for (const RemoteAccess& a : remote_[r]) {
      if (a.permission >= exposures[a.peer].size()) {
        report(Fault::kUnguarded, a.peer, a.step, a.iteration, a.place, "an Open of the owner",
               "none");
        return false;
      }
      const Exposure& e = exposures[a.peer][a.permission];
      if (e.closed == UINT32_MAX) {
        report(Fault::kUnguarded, a.peer, a.step, a.iteration, a.place,
               "an owner that waits for the end of this access", "an owner that does not");
        return false;
      }
      accesses.push_back(
          {a.place, a.write, a.peer, a.step, a.iteration, e.open, e.iteration, 0, e.closed});
    }
    return true;
  }

  // Sorts the accesses of a space into its smallest intervals, then compares inside of each.
  void checkSpace(uint32_t r, const Clocks& clocks, const std::vector<Access>& accesses,
                  uint8_t space) {
    std::vector<uint64_t> cuts;
    for (const Access& a : accesses) {
      if (a.place.space != space) continue;
      cuts.push_back(a.place.begin);
      cuts.push_back(a.place.end());
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<std::vector<uint32_t>> parts(cuts.size());
    for (uint32_t i = 0; i < accesses.size(); ++i) {
      const Place& place = accesses[i].place;
      if (place.space != space) continue;
      auto part = std::lower_bound(cuts.begin(), cuts.end(), place.begin) - cuts.begin();
      for (; cuts[static_cast<size_t>(part)] < place.end(); ++part) {
        parts[static_cast<size_t>(part)].push_back(i);
      }
    }
    for (const std::vector<uint32_t>& part : parts) {
      for (size_t i = 0; i < part.size() && !finding_; ++i) {
        const Access& a = accesses[part[i]];
        for (size_t j = 0; j < i && !finding_; ++j) {
          const Access& b = accesses[part[j]];
          if ((a.write || b.write) && !ordered(clocks, a, b)) reportRace(r, a, b);
        }
      }
    }
  }

  static bool ordered(const Clocks& clocks, const Access& a, const Access& b) {
    if (a.peer == b.peer) {
      // Element by element within one step; a peer's own steps are ordered among themselves.
      if (a.step == b.step && a.iteration == b.iteration) return a.place.begin == b.place.begin;
      if (a.peer >= 0) return true;
    }
    return endsBefore(clocks, a, b) || endsBefore(clocks, b, a);
  }

  static bool endsBefore(const Clocks& clocks, const Access& a, const Access& b) {
    return clocks.before(a.endLane, a.end, b.start, b.startIteration);
  }

  void reportRace(uint32_t r, const Access& a, const Access& b) {
    const auto who = [&](const Access& x) {
      return fmt::format("{} by step {} (iteration {}) of rank {}", x.write ? "a write" : "a read",
                         x.step, x.iteration, x.peer >= 0 ? x.peer : int64_t{r});
    };
    report(Fault::kRace, a.peer >= 0 ? static_cast<uint32_t>(a.peer) : r, a.step, a.iteration,
           a.place, "an order with " + who(b), "none");
  }

  void report(Fault fault, uint32_t r, uint32_t step, uint64_t c, const Place& place,
              std::string expected, std::string found) {
    if (finding_) return;
    finding_ =
        Finding{fault, r, 0, c, step, placeText(place), std::move(expected), std::move(found)};
  }

  const World& world_;
  StepReader read_;
  std::vector<std::vector<RemoteAccess>> remote_;  // by owner
  std::optional<Finding> finding_;
};

}  // namespace

std::optional<Finding> findRace(const World& world, const MemoryMap& map) {
  return RaceFinder(world, map).run();
}

}  // namespace hccl::verify
