// How ranks tell each other where memory of theirs is: through the communicator's own operations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/communicator/communicator.h"

namespace hccl {

// A piece of a rank's memory. Travels as it is.
struct MemoryPart {
  static constexpr uint64_t kNoOffset = ~0ULL;
  uint64_t process = 0;         // random number of the rank's process
  uint64_t address = 0;         // there
  uint64_t offset = kNoOffset;  // in the arena that peers map
  uint64_t bytes = 0;
};

MemoryPart describePart(const Communicator& communicator, const void* address, uint64_t bytes);

// Collective; every rank's part, by rank. Blocks. Errors: of the communicator.
Result<std::vector<MemoryPart>> gatherParts(Communicator& communicator, const MemoryPart& mine);

// With the peers only, each of which calls it too; result by the order of `peers`.
Result<std::vector<MemoryPart>> swapParts(Communicator& communicator, const MemoryPart& mine,
                                          std::span<const uint32_t> peers);

// Where the peer's part is in this process. Errors: HCCL_E_NOT_SUPPORT with EI0010.
Result<std::byte*> reachPart(Communicator& communicator, uint32_t peer, const MemoryPart& part);

}  // namespace hccl
