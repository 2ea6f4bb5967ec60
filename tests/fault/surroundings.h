// A bad environment: each is told by its own code and names what is wrong, or the job does its work
// in spite of it.
#pragma once

#include <string>
#include <vector>

namespace hccl::faults {

struct Surrounding {
  std::string name;
  std::string problem;  // empty: as it has to be
  std::string sample;   // what a rank said
};

std::vector<Surrounding> runSurroundings(const std::string& only);

}  // namespace hccl::faults
