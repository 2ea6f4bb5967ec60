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

}  // namespace hccl
