// ForeignMemory: plain memory of another process of this host, read by the kernel on behalf of this
// one (cross-memory attach). It is never written.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hccl::transport {

class ForeignMemory {
 public:
  ForeignMemory() = default;

  // The memory of `process` (a pid of this pid namespace) if this process may read it and finds the
  // number `mark` at `address` there; else memory that is not readable.
  static ForeignMemory of(int32_t process, uint64_t address, uint64_t mark);

  // HCCL_HOST_READ_KB in bytes, 0: nothing is to be read.
  static uint64_t leastBytes();

  bool isReadable() const { return process_ > 0; }
  // 0, or an errno: ESRCH when the process has ended, EFAULT when a byte of the range is not
  // mapped.
  int read(void* to, uint64_t address, size_t bytes) const noexcept;

 private:
  int32_t process_ = 0;
};

}  // namespace hccl::transport
