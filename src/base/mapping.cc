#include "src/base/mapping.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

namespace hccl {

Result<Mapping> Mapping::create(size_t size, int prot, int flags, int fd, off_t offset) {
  void* data = ::mmap(nullptr, size, prot, flags, fd, offset);
  if (data == MAP_FAILED) {
    return Status(HCCL_E_MEMORY,
                  fmt::format("mmap of {} bytes failed: {}", size, std::strerror(errno)));
  }
  return Mapping(data, size);
}

Result<Mapping> Mapping::createAligned(size_t size, size_t alignment, int prot, int flags, int fd) {
  HCCL_ASSIGN_OR_RETURN(Mapping room, create(size + alignment, PROT_NONE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE));
  std::byte* const start = room.bytes();
  const size_t skip = -reinterpret_cast<uintptr_t>(start) & (alignment - 1);
  void* const data = ::mmap(start + skip, size, prot, flags | MAP_FIXED, fd, 0);
  if (data == MAP_FAILED) {
    return Status(HCCL_E_MEMORY,
                  fmt::format("mmap of {} bytes failed: {}", size, std::strerror(errno)));
  }
  (void)room.release();
  if (skip != 0) ::munmap(start, skip);
  if (skip != alignment) ::munmap(start + skip + size, alignment - skip);
  return Mapping(data, size);
}

}  // namespace hccl
