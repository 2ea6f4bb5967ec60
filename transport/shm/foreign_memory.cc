#include "transport/shm/foreign_memory.h"

#include <sys/uio.h>

#include <cerrno>

#include "src/base/env.h"

namespace hccl::transport {

uint64_t ForeignMemory::leastBytes() {
  const auto env = environment();
  return env.isOk() ? uint64_t{(*env)->readKb} << 10 : 0;
}

ForeignMemory ForeignMemory::of(int32_t process, uint64_t address, uint64_t mark) {
  ForeignMemory memory;
  if (process <= 0 || leastBytes() == 0) return memory;
  memory.process_ = process;
  uint64_t found = ~mark;
  if (memory.read(&found, address, sizeof found) != 0 || found != mark) memory.process_ = 0;
  return memory;
}

int ForeignMemory::read(void* to, uint64_t address, size_t bytes) const noexcept {
  if (process_ <= 0) return ENOTSUP;
  auto* place = static_cast<char*>(to);
  while (bytes > 0) {
    const iovec mine{place, bytes};
    const iovec theirs{reinterpret_cast<void*>(address), bytes};
    const ssize_t got = ::process_vm_readv(process_, &mine, 1, &theirs, 1, 0);
    if (got < 0 && errno != EINTR) return errno;
    if (got == 0) return EFAULT;
    if (got < 0) continue;
    place += got;
    address += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return 0;
}

}  // namespace hccl::transport
