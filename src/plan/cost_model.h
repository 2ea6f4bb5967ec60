// The cost model: how long a choice takes, out of the algorithms' own costs and constants for each
// class of links. Agreed data only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/plan/schedule.h"

namespace hccl::plan {

// Time of moving and reducing n bytes in one step: alpha + n * (beta + gamma).
struct LinkConstants {
  double alpha = 0;  // seconds a step
  double beta = 0;   // seconds a byte moved
  double gamma = 0;  // seconds a byte reduced
};

enum class CostClass : uint8_t {
  kShared,  // shared memory of a server
  kRdma,    // 200 Gb/s RoCE
  kTcp,
};
const char* costClassName(CostClass cls);
std::optional<CostClass> costClassOf(std::string_view name);
// Where they come from: docs/simulator.md.
LinkConstants constantsOf(CostClass cls);

struct LevelClasses {
  CostClass inside = CostClass::kShared;  // of servers
  CostClass between = CostClass::kRdma;
};

// Seconds that `choice` takes for `bytes` (as select() takes them). A stage counts with the class
// of the slowest link inside of its groups.
double estimate(const OpDesc& op, const Topology& topology, const Choice& choice, uint64_t bytes,
                const LevelClasses& classes);

}  // namespace hccl::plan
