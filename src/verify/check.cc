#include "src/verify/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/verify/machine.h"
#include "src/verify/races.h"

namespace hccl::verify {
namespace {

std::optional<Finding> checkStaging(const World& world, const MemoryMap& map) {
  for (uint32_t r = 0; r < world.ranks; ++r) {
    const plan::Geometry& g = world.geometry[r];
    // A block has a cache line at least, however small the buffer is.
    const uint64_t least = std::max<uint64_t>(plan::Geometry::kAlignBytes / g.elementSize, 1);
    const uint64_t bytes = 2 * map.slotElements(r) * g.elementSize;
    if (bytes <= 2 * world.bufferBytes || g.capacity == least) continue;
    return Finding{Fault::kPlace,
                   r,
                   0,
                   0,
                   -1,
                   "staging",
                   fmt::format("at most {} bytes", 2 * world.bufferBytes),
                   fmt::format("{} bytes", bytes)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> check(const World& world, Placement placement) {
  return checkSequence({&world}, placement);
}

std::optional<Finding> checkSequence(const std::vector<const World*>& worlds, Placement placement) {
  std::vector<MemoryMap> maps;
  maps.reserve(worlds.size());
  std::vector<Machine::Operation> operations;
  for (const World* world : worlds) {
    Placement own = placement;
    if (!allows(world->op.type, own.overlap)) {
      own.overlap =
          allows(world->op.type, Overlap::kSeparate) ? Overlap::kSeparate : Overlap::kInPlace;
    }
    maps.emplace_back(*world, own);
    operations.push_back({world, &maps.back()});
  }
  if (auto finding = Machine(operations).run()) return finding;
  for (size_t i = 0; i < worlds.size(); ++i) {
    if (auto finding = checkStaging(*worlds[i], maps[i])) return finding;
    if (auto finding = findRace(*worlds[i], maps[i])) {
      finding->operation = i;
      return finding;
    }
  }
  return std::nullopt;
}

std::vector<Placement> placementsOf(const World& world) {
  const bool remote = std::any_of(world.plans.begin(), world.plans.end(), [](const plan::Plan& p) {
    return p.inputRemote || p.outputRemote;
  });
  std::vector<Placement> all;
  for (Overlap overlap : {Overlap::kSeparate, Overlap::kInPlace, Overlap::kAliased}) {
    if (!allows(world.op.type, overlap)) continue;
    all.push_back({overlap, Windows::kUser});
    if (!remote) continue;
    all.push_back({overlap, Windows::kStaged});
    all.push_back({overlap, Windows::kMixed});
  }
  return all;
}

std::string checkAll(const World& world) {
  for (Placement placement : placementsOf(world)) {
    if (const auto finding = check(world, placement)) {
      return fmt::format("{} ({}, windows {}): {}", world.name, overlapName(placement.overlap),
                         windowsName(placement.windows), finding->text(world.plans[finding->rank]));
    }
  }
  return {};
}

}  // namespace hccl::verify
