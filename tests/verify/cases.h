// Cases of the property tests: every operation x registered algorithm x legal pair of levels, on
// given numbers of ranks, with the counts, roots, links and chunk grids taken in turn.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/verify/world.h"

namespace hccl::test {

enum class Mix : uint8_t { kDirect, kMessage, kMixed };

struct Case {
  verify::WorldSpec spec;
  Mix mix = Mix::kDirect;
  std::string text() const;
};

const std::vector<HcclCMDType>& collectiveOps();

// All choices that are legal for the operation on the topology, over the whole registry.
std::vector<plan::Choice> choicesOf(HcclCMDType type, const plan::Topology& topology);

// Flat, and servers of equal and of unequal size where the number of ranks has them.
std::vector<plan::Topology> topologiesOf(uint32_t ranks, bool all);

// The links of `mix`: direct inside of servers when mixed, or at random in a single one.
verify::LinkOf linksOf(const plan::Topology& topology, Mix mix);

// Sets count, chunk and buffer: `turn` goes through one element, odd ends, several iterations.
void setGrid(verify::WorldSpec& spec, uint32_t turn);

}  // namespace hccl::test
