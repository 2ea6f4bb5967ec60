// The cost model: how long a choice takes, counted from the moves of its stages with constants for
// each class of links. Agreed data only, and plain sums, so all ranks get the same figures.
// docs/simulator.md says where the constants come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/plan/schedule.h"

namespace hccl::plan {

enum class CostClass : uint8_t {
  kShared,  // shared memory of a server
  kRdma,    // 200 Gb/s RoCE
  kTcp,
};
const char* costClassName(CostClass cls);
std::optional<CostClass> costClassOf(std::string_view name);

// Seconds, and seconds a byte.
struct LinkConstants {
  double step = 0;          // a round that waits for a peer, where every rank has a processor
  double turn = 0;          // the same, for each rank that shares the processor
  double network = 0;       // more of both between servers
  double contact = 0;       // a peer, for each of the two
  double wire = 0;          // a byte sent or received in a message
  double touch = 0;         // a byte read or written by the processor
  double dirty = 0;         // more for a byte that another rank has just written
  double alone = 1;         // of `wire`, where one rank has more to do than the others
  bool duplex = false;      // sends while it receives
  double streamedWire = 0;  // the same where data are larger than the caches
  double streamedTouch = 0;
  uint64_t largeFrom = 0;  // inputs and outputs of a server's ranks
};
LinkConstants constantsOf(CostClass cls);

struct LevelClasses {
  CostClass inside = CostClass::kShared;  // of servers
  CostClass between = CostClass::kRdma;
  // Ranks of the communicator that share a processor, on the fullest host; at least 1.
  double crowding = 1;
};

// What a choice costs at a size that is left open: fixed + bytes * (cached or streamed).
struct ChoiceTerms {
  double fixed = 0;
  double cached = 0;
  double streamed = 0;
  uint64_t streamedFrom = 0;  // bytes of the operation
  double seconds(uint64_t bytes) const {
    return fixed + static_cast<double>(bytes) * (bytes >= streamedFrom ? streamed : cached);
  }
};

// A stage counts with the class of the slowest link inside of its groups. Looks at the moves of all
// ranks: not for thousands of them.
ChoiceTerms termsOf(const OpDesc& op, const Topology& topology, const Choice& choice,
                    const LevelClasses& classes);

// Seconds that `choice` takes for `bytes` (as select() takes them).
double estimate(const OpDesc& op, const Topology& topology, const Choice& choice, uint64_t bytes,
                const LevelClasses& classes);

}  // namespace hccl::plan
