// World: the lowered plans of all ranks for one operation, with the geometry that each rank runs
// them on. What the checker proves and the simulator times.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/plan/geometry.h"
#include "src/plan/lowering.h"
#include "src/plan/plan.h"
#include "src/plan/schedule.h"

namespace hccl::verify {

// By rank and block, as the callers of V and AlltoAll operations give them.
struct Counts {
  std::vector<std::vector<uint64_t>> input;
  std::vector<std::vector<uint64_t>> inputDispls;
  std::vector<std::vector<uint64_t>> output;
  std::vector<std::vector<uint64_t>> outputDispls;
};

using LinkOf = std::function<plan::PeerLink(uint32_t, uint32_t)>;

struct WorldSpec {
  plan::OpDesc op;  // its count is the launch's; V operations derive their tables from it
  plan::Topology topology;
  plan::Choice choice;
  LinkOf link;  // symmetric
  uint64_t elementSize = 4;
  uint64_t chunkBytes = 2ULL << 20;     // of one iteration of the chunk grid, at most
  uint64_t bufferBytes = 256ULL << 20;  // HCCL_BUFFSIZE
  bool strict = false;                  // results must be reduced in rank order, unreduced inputs
};

struct World {
  plan::OpDesc op;
  std::string name;  // of the schedule
  uint32_t ranks = 0;
  bool strict = false;
  uint64_t bufferBytes = 0;
  std::vector<plan::Plan> plans;
  std::vector<plan::Geometry> geometry;  // points into counts
  std::shared_ptr<const Counts> counts;
};

World buildWorld(const WorldSpec& spec);
// The chunk grid and the counts of all ranks, for a world whose plans are there.
void setGeometry(const WorldSpec& spec, World& world);

// Identifies what a plan does, whatever built it: equal plans have equal digests.
uint64_t digestOf(const plan::Plan& plan);

}  // namespace hccl::verify
