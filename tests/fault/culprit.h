// What the rank at fault does to itself.
#pragma once

#include <cstdint>
#include <string>

#include "tests/integration/support/rank.h"

namespace hccl::faults {

// Nanoseconds of the clock that all processes of a machine share.
uint64_t sharedNow();

// "kill", "segv", "stop", "exit": tells the parent when it happens, and does it. "cut": takes the
// network between the two servers down, and returns.
void breakNow(multirank::Rank& rank, const std::string& fault);
// The same from a thread, some moment later: in the middle of what the rank does.
void breakLater(multirank::Rank& rank, const std::string& fault, uint32_t microseconds);
bool isSelfInflicted(const std::string& fault);

// Connects to every listening TCP port of the processes and sends no word, or nonsense.
void botherListeners(const std::vector<std::string>& processes, const std::string& fault,
                     uint32_t seed);

}  // namespace hccl::faults
