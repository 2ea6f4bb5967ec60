// SimCase: one row of a simulation: which operation on which ranks, and how it came out.
#pragma once

#include <optional>
#include <string>

#include "src/verify/lockstep.h"
#include "src/verify/sim.h"

namespace hccl::verify {

struct SimCase {
  HcclCMDType type = HCCL_CMD_ALLREDUCE;
  uint64_t bytes = 0;  // of the whole vector, or of all blocks together
  uint32_t ranks = 2;
  uint32_t perServer = 1;
  std::string algorithm;  // token; between servers when `inside` is given
  std::string inside;     // token of the level inside of servers; empty: flat
  bool oneShot = false;
  bool direct = false;        // links inside of servers are direct mappings
  bool fold = true;           // one plan for all ranks, where confirmed
  bool confirmEvery = false;  // compare all ranks, however many there are
  uint64_t chunkBytes = 1ULL << 60;
};

struct SimRow {
  SimCase what;
  SimResult result;
  Symmetry symmetry = Symmetry::kNone;  // that plans were folded by
  std::optional<double> closedForm;
  double planSeconds = 0;  // of this machine: to confirm and to lower
  double runSeconds = 0;   // of this machine: to simulate
  std::string error;
};

// Small data travels whole up to these sizes, as HCCL has it.
bool oneShotByDefault(HcclCMDType type, const plan::AlgorithmRow& row, uint64_t bytes);

SimRow runCase(const SimCase& what, const NetworkSpec& network, std::vector<Span>* spans = nullptr);

}  // namespace hccl::verify
