// Contenders: the legal ways to do an operation, each as an HCCL_ALGO text.
#pragma once

#include <string>
#include <vector>

#include "src/plan/chooser.h"
#include "tools/tune/operation.h"

namespace hccl::tune {

struct Contender {
  std::string name;     // "NHR (one-shot)"; "automatic"
  std::string algo;     // empty: the library's own choice
  plan::Choice choice;  // of a contender that is not automatic
};

// All that HCCL_ALGO can ask for on these ranks of one server.
std::vector<Contender> contendersOf(const Operation& op, const plan::Topology& topology);

// The same contender with another chunk.
Contender withChunk(const Contender& contender, uint64_t bytes);

}  // namespace hccl::tune
