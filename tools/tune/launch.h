// How the ranks start: as processes of this program's own, or by mpirun.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "tools/tune/team.h"

namespace hccl::tune {

// Runs `body` in `ranks` child processes with the variables set, and waits for all. False when one
// has failed; the others are ended then. Before any use of the library in this process.
bool runLocally(uint32_t ranks, const std::map<std::string, std::string>& environment,
                const std::function<void(Invitation&)>& body);

// True when a launcher of MPI has started this process.
bool startedByMpi();
// The ranks that mpirun started. False when the program was built without MPI.
bool runUnderMpi(int* argc, char*** argv, const std::function<void(Invitation&)>& body);

}  // namespace hccl::tune
