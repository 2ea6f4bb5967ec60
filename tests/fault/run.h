// Runs one injection and judges what the survivors said.
#pragma once

#include <string>
#include <vector>

#include "tests/fault/injection.h"

namespace hccl::faults {

struct Outcome {
  std::vector<std::string> problems;  // empty: as it has to be
  std::vector<double> seconds;        // from the fault to each survivor's error
  uint32_t survivors = 0;
  uint32_t named = 0;  // survivors that named the culprit
  std::string sample;  // what a survivor said
};

Outcome inject(const Injection& injection);

}  // namespace hccl::faults
