// Reasons why a mutant is equivalent, each shown on the plans themselves.
#include <algorithm>
#include <functional>

#include "src/verify/check.h"
#include "src/verify/clocks.h"
#include "src/verify/step_reader.h"
#include "tests/verify/mutants.h"

namespace hccl::test {
namespace {

using plan::Plan;
using plan::Step;
using plan::StepKind;
using verify::MemoryMap;
using verify::Place;
using verify::StepReader;
using verify::World;

struct Touch {
  Place place;
  bool write = false;
  uint64_t iteration = 0;
  bool operator==(const Touch&) const = default;
};

bool conflict(const Touch& a, const Touch& b) {
  return (a.write || b.write) && a.place.rank == b.place.rank && a.place.space == b.place.space &&
         a.place.begin < b.place.end() && b.place.begin < a.place.end();
}

std::vector<Touch> touches(const World& world, const MemoryMap& map, uint32_t rank, uint32_t step) {
  std::vector<Touch> all;
  const StepReader read(world, map);
  for (uint64_t c = 0; c < world.geometry[rank].iterations; ++c) {
    read.forAccesses(rank, world.plans[rank].steps[step], c,
                     [&](uint32_t, uint32_t, const Place& place, bool write) {
                       all.push_back({place, write, c});
                     });
  }
  return all;
}

bool inEveryPlacement(const World& world,
                      const std::function<bool(const MemoryMap&, verify::Placement)>& holds) {
  for (verify::Placement placement : verify::placementsOf(world)) {
    if (!holds(MemoryMap(world, placement), placement)) return false;
  }
  return true;
}

// The moves that a peer makes under the permission of an Open, or whose end an AwaitClose awaits:
// the n-th of each belong together.
std::vector<uint32_t> permitted(const World& world, uint32_t rank, uint32_t index) {
  const Step& step = world.plans[rank].steps[index];
  uint32_t nth = 0;
  for (uint32_t s : world.plans[rank].laneSteps[0]) {
    const Step& other = world.plans[rank].steps[s];
    if (s == index) break;
    nth += other.kind == step.kind && other.peer == step.peer ? 1 : 0;
  }
  std::vector<uint32_t> moves;
  int64_t opened = -1;
  bool open = false;
  for (uint32_t s : world.plans[step.peer].laneSteps[0]) {
    const Step& theirs = world.plans[step.peer].steps[s];
    if (theirs.kind == StepKind::kAwaitOpen && theirs.peer == rank) {
      ++opened;
      open = true;
    }
    if (theirs.kind == StepKind::kClose && theirs.peer == rank) open = false;
    if (theirs.kind == StepKind::kCombine && open && opened == nth) moves.push_back(s);
  }
  return moves;
}

// What a step touches of this rank's memory, or permits a peer to touch.
std::vector<Touch> extent(const World& world, const MemoryMap& map, uint32_t rank, uint32_t index) {
  const Step& step = world.plans[rank].steps[index];
  std::vector<Touch> all;
  if (step.kind != StepKind::kOpen && step.kind != StepKind::kAwaitClose) {
    all = touches(world, map, rank, index);
  } else {
    for (uint32_t s : permitted(world, rank, index)) {
      for (const Touch& touch : touches(world, map, step.peer, s)) all.push_back(touch);
    }
  }
  std::erase_if(all, [rank](const Touch& touch) { return touch.place.rank != rank; });
  return all;
}

bool disjoint(const World& world, uint32_t rank, uint32_t a, uint32_t b) {
  return inEveryPlacement(world, [&](const MemoryMap& map, verify::Placement) {
    const std::vector<Touch> first = extent(world, map, rank, a);
    const std::vector<Touch> second = extent(world, map, rank, b);
    return std::none_of(first.begin(), first.end(), [&](const Touch& x) {
      return std::any_of(second.begin(), second.end(), [&](const Touch& y) {
        return x.iteration == y.iteration && conflict(x, y);
      });
    });
  });
}

// True when the step touches the peer's memory.
bool usesPeer(const World& world, uint32_t rank, uint32_t index, uint32_t peer) {
  const std::vector<Touch> all =
      touches(world, MemoryMap(world, verify::placementsOf(world)[0]), rank, index);
  return std::any_of(all.begin(), all.end(),
                     [peer](const Touch& touch) { return touch.place.rank == peer; });
}

bool isSignal(StepKind kind) {
  return kind == StepKind::kOpen || kind == StepKind::kAwaitOpen || kind == StepKind::kClose ||
         kind == StepKind::kAwaitClose;
}

std::string dependency(const World& world, const World& mutant, const Mutation& m) {
  const Plan& plan = mutant.plans[m.rank];
  const Step& original = world.plans[m.rank].steps[m.step];
  const uint32_t dep = world.plans[m.rank].deps[original.dep + m.detail];
  const verify::Clocks clocks(plan, mutant.geometry[m.rank].iterations);
  bool implied = true;
  for (uint64_t c = 0; c < mutant.geometry[m.rank].iterations; ++c) {
    implied = implied && clocks.before(plan.steps[dep].lane, clocks.ordinal(dep, c), m.step, c);
  }
  if (implied) return "other waits imply the dependency";
  if (disjoint(world, m.rank, dep, m.step)) return "the two steps touch no common memory";
  return {};
}

// Two neighbours of a lane.
std::string swapped(const World& world, const Mutation& m) {
  const Plan& plan = world.plans[m.rank];
  const std::vector<uint32_t>& lane = plan.laneSteps[plan.steps[m.step].lane];
  const uint32_t next = *(std::find(lane.begin(), lane.end(), m.step) + 1);
  const Step& a = plan.steps[m.step];
  const Step& b = plan.steps[next];
  if (isSignal(a.kind) && a.kind == b.kind && a.peer == b.peer) return "the same signal twice";
  // AwaitOpen and Close enclose what touches the peer.
  const auto encloses = [&](const Step& signal, uint32_t other) {
    return (signal.kind == StepKind::kAwaitOpen || signal.kind == StepKind::kClose) &&
           usesPeer(world, m.rank, other, signal.peer);
  };
  if (encloses(a, next) || encloses(b, m.step)) return {};
  return disjoint(world, m.rank, m.step, next) ? "neighbours without common memory" : "";
}

bool touchesNothing(const World& world, const Mutation& m) {
  return inEveryPlacement(world, [&](const MemoryMap& map, verify::Placement) {
    return touches(world, map, m.rank, m.step).empty();
  });
}

bool touchesTheSame(const World& world, const World& mutant, const Mutation& m) {
  return inEveryPlacement(world, [&](const MemoryMap& map, verify::Placement placement) {
    return touches(world, map, m.rank, m.step) ==
           touches(mutant, MemoryMap(mutant, placement), m.rank, m.step);
  });
}

bool sameContacts(const World& world, const World& mutant, const Mutation& m) {
  const MemoryMap map(world, {});
  for (uint64_t c = 0; c < world.geometry[m.rank].iterations; ++c) {
    if (StepReader(world, map).hasContact(m.rank, world.plans[m.rank].steps[m.step], c) !=
        StepReader(mutant, map).hasContact(m.rank, mutant.plans[m.rank].steps[m.step], c)) {
      return false;
    }
  }
  return true;
}

// Nothing is read and written by the step at once, so that doing it again changes nothing.
bool repeatable(const World& world, const Mutation& m) {
  return inEveryPlacement(world, [&](const MemoryMap& map, verify::Placement) {
    const std::vector<Touch> all = touches(world, map, m.rank, m.step);
    return std::none_of(all.begin(), all.end(), [&](const Touch& x) {
      return x.write && std::any_of(all.begin(), all.end(), [&](const Touch& y) {
               return !y.write && x.iteration == y.iteration && conflict(x, y);
             });
    });
  });
}

// The parts of `from` that nothing in `covers` writes in the same iteration.
std::vector<Touch> uncovered(const std::vector<Touch>& from, const std::vector<Touch>& covers) {
  std::vector<Touch> rest;
  for (const Touch& touch : from) {
    if (!touch.write) continue;
    std::vector<Touch> parts = {touch};
    for (const Touch& cover : covers) {
      std::vector<Touch> next;
      for (const Touch& part : parts) {
        if (!conflict(part, cover) || !cover.write || cover.iteration != part.iteration) {
          next.push_back(part);
          continue;
        }
        Touch before = part;
        before.place.length = std::max(cover.place.begin, part.place.begin) - part.place.begin;
        Touch after = part;
        after.place.begin = std::min(cover.place.end(), part.place.end());
        after.place.length = part.place.end() - after.place.begin;
        if (before.place.length > 0) next.push_back(before);
        if (after.place.length > 0) next.push_back(after);
      }
      parts = next;
    }
    rest.insert(rest.end(), parts.begin(), parts.end());
  }
  return rest;
}

// What the two versions of the step write differently, in one placement. Staging copies each place
// onto its own image: staging more is staging the same.
std::vector<Touch> difference(const World& world, const World& mutant, const Mutation& m,
                              const MemoryMap& map, verify::Placement placement) {
  const std::vector<Touch> before = touches(world, map, m.rank, m.step);
  std::vector<Touch> after;
  if (m.change != Change::kDropStep) {
    after = touches(mutant, MemoryMap(mutant, placement), m.rank, m.step);
  }
  std::vector<Touch> differ = uncovered(before, after);
  const StepKind kind = world.plans[m.rank].steps[m.step].kind;
  if (plan::isStage(kind)) return differ;
  const std::vector<Touch> more = uncovered(after, before);
  differ.insert(differ.end(), more.begin(), more.end());
  return differ;
}

// Calls visit(step, touch) for everything that other steps do to the place in its iteration.
template <typename Visit>
void forOthers(const World& world, const MemoryMap& map, const Mutation& m, const Touch& place,
               Visit visit) {
  for (uint32_t r = 0; r < world.ranks; ++r) {
    for (uint32_t s = 0; s < world.plans[r].steps.size(); ++s) {
      if (r == m.rank && s == m.step) continue;
      for (const Touch& touch : touches(world, map, r, s)) {
        if (touch.iteration == place.iteration && conflict(touch, place)) {
          visit(world.plans[r].steps[s], touch);
        }
      }
    }
  }
}

// What excuses a mutant in one placement.
using Excuse = bool (*)(const World&, const World&, const Mutation&, const MemoryMap&,
                        verify::Placement);

bool differsWhereNobodyLooks(const World& world, const World& mutant, const Mutation& m,
                             const MemoryMap& map, verify::Placement placement) {
  bool seen = false;
  for (const Touch& place : difference(world, mutant, m, map, placement)) {
    forOthers(world, map, m, place, [&](const Step&, const Touch&) { seen = true; });
  }
  return !seen;
}

// What is written differently is written again, in a later round, before anybody reads it.
bool writtenAgain(const World& world, const World& mutant, const Mutation& m, const MemoryMap& map,
                  verify::Placement placement) {
  const uint32_t round = world.plans[m.rank].steps[m.step].round;
  for (const Touch& place : difference(world, mutant, m, map, placement)) {
    uint32_t again = UINT32_MAX;
    uint32_t read = UINT32_MAX;
    forOthers(world, map, m, place, [&](const Step& step, const Touch& touch) {
      if (step.round <= round) return;
      uint32_t& first = touch.write ? again : read;
      first = std::min<uint32_t>(first, step.round);
    });
    if (again == UINT32_MAX || read <= again) return false;
  }
  return true;
}

// A copy into a place that other steps write in the same iteration, too: in the order of the plan
// the last of them counts, and what it writes there is the result.
bool writtenByOthers(const World& world, const World& mutant, const Mutation& m,
                     const MemoryMap& map, verify::Placement placement) {
  const Step& copy = world.plans[m.rank].steps[m.step];
  if (copy.kind != StepKind::kCombine || copy.sources != 1) return false;
  for (const Touch& place : difference(world, mutant, m, map, placement)) {
    std::vector<Touch> writes;
    forOthers(world, map, m, place, [&](const Step&, const Touch& touch) {
      if (touch.write) writes.push_back(touch);
    });
    if (!uncovered({place}, writes).empty()) return false;
  }
  return true;
}

// The reason that holds in all placements, or that each placement has one of its own.
std::string excuse(const World& world, const World& mutant, const Mutation& m) {
  static constexpr std::pair<Excuse, const char*> kExcuses[] = {
      {differsWhereNobodyLooks, "differs in memory that nobody else touches"},
      {writtenAgain, "differs in what a later round writes before it is read"},
      {writtenByOthers, "copies where other steps copy, too"}};
  for (const auto& [holds, reason] : kExcuses) {
    if (inEveryPlacement(world, [&, check = holds](const MemoryMap& map, verify::Placement p) {
          return check(world, mutant, m, map, p);
        })) {
      return reason;
    }
  }
  const bool each = inEveryPlacement(world, [&](const MemoryMap& map, verify::Placement p) {
    return std::any_of(std::begin(kExcuses), std::end(kExcuses),
                       [&](const auto& one) { return one.first(world, mutant, m, map, p); });
  });
  return each ? "differs in what nobody reads before it is written, in other ways by placement"
              : "";
}

}  // namespace

std::string equivalence(const World& world, const World& mutant, const Mutation& m) {
  const StepKind kind = world.plans[m.rank].steps[m.step].kind;
  if (m.change == Change::kDropDependency) return dependency(world, mutant, m);
  if (m.change == Change::kSwapSteps) return swapped(world, m);
  if (isSignal(kind)) {
    return sameContacts(world, mutant, m) && m.change != Change::kShiftPeer
               ? "the contact has data in the same iterations"
               : "";
  }
  if (touchesNothing(world, m)) return "touches no memory in any placement";
  if (m.change == Change::kDuplicateStep) {
    return repeatable(world, m) ? "repeats a copy whose source it does not write" : "";
  }
  if (m.change != Change::kDropStep && touchesTheSame(world, mutant, m))
    return "touches the same memory";
  return excuse(world, mutant, m);
}

}  // namespace hccl::test
