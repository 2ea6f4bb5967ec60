// Populating and releasing the pages of a memfd, without ever running into the out-of-memory killer
// as far as the kernel's figures can tell.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hccl::runtime {

// Gives [address, address + bytes), which maps `fd` at `offset`, zeroed pages. False when the
// memory is not to be had; some pages may be there then. All page aligned.
bool populate(int fd, uint64_t offset, void* address, size_t bytes);

// Gives the pages of the range back to the system.
void punch(int fd, uint64_t offset, size_t bytes);

}  // namespace hccl::runtime
