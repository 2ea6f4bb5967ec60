// AliasTable: addresses outside of the arenas at which arena memory is mapped once more
// (aclrtMapMem), so that Arena::find translates them. Read without a lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hccl::runtime {

class Arena;

// False when all 1024 places are taken: such a range works, but is not arena memory to find().
bool addAlias(uintptr_t address, size_t bytes, Arena* arena, uint64_t offset);
void removeAlias(uintptr_t address);

// The arena whose memory lies at [address, address + bytes), with the offset in it; nullptr if
// none. Neighbouring aliases of neighbouring arena ranges count as one range.
Arena* findAlias(uintptr_t address, size_t bytes, uint64_t* offset);

}  // namespace hccl::runtime
