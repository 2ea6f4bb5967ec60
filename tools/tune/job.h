// Job: what the ranks of one team measure, and what rank 0 hands back.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/tune/measure.h"
#include "tools/tune/operation.h"

namespace hccl::tune {

struct JobSpec {
  std::vector<Operation> ops;
  std::vector<uint64_t> sizes;   // ascending
  std::vector<uint64_t> chunks;  // tried with the best algorithm of large data
  std::string links;             // shared, rdma, tcp
  Effort effort;
  bool compare = false;  // the library's own choice against the best, instead of a table
};

// All ranks call it. {"rows": [...], "cells": [...]}: complete on rank 0.
nlohmann::json runJob(Team& team, const JobSpec& spec);

}  // namespace hccl::tune
