// Arena: the memory of one device, a sparse memfd that peers on the server can map whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/base/status.h"
#include "src/runtime/memory_watch.h"

namespace hccl::runtime {

class Arena {
 public:
  // Where peers map it: at a multiple of this.
  static constexpr size_t kPeerAlignment = 256ULL << 20;

  // The arena of a device, made on first use; lives until the process ends.
  static Result<Arena*> ofDevice(int32_t device);

  // The arena that holds all of [address, address + bytes), with the offset of `address` in it;
  // nullptr when the range is not arena memory. No lock; safe to call on any pointer.
  static Arena* find(const void* address, size_t bytes, uint64_t* offset);

  int fd() const { return fd_; }             // memfd, sealed against shrinking
  std::byte* base() const { return base_; }  // this process' mapping
  size_t size() const { return size_; }      // virtual size (sparse), equal for the memfd
  int32_t device() const { return device_; }

  // Page-aligned (or `alignment`, a power of two) zeroed memory with its pages populated in
  // batches. HCCL_E_OOM with EI0011-style text (bytes asked for) when memory is not to be had;
  // never SIGBUS later.
  Result<void*> allocate(size_t bytes, size_t alignment = 4096);
  // The range goes back when its last exposure ended. HCCL_E_PARA for a pointer that is not an
  // allocation's start.
  Status release(void* address);

  // Exposures: while a peer may touch the range, its pages are not given back nor reused.
  void expose(uint64_t offset);  // `offset` lies in a live allocation
  void unexpose(uint64_t offset);
  // Exposes the allocation that holds all of [offset, offset + bytes) and tells where it lies;
  // nothing when there is none. Ends with unexpose(offset).
  std::optional<MemoryRange> exposeAll(uint64_t offset, uint64_t bytes);

  uint64_t liveBytes() const;    // of allocations, released but exposed ones included
  uint64_t cachedBytes() const;  // of freed ranges whose pages are kept for reuse

 private:
  void giveBack(uint64_t offset, uint64_t bytes);  // under the lock

  friend struct ArenaBuilder;
  Arena() = default;
  int fd_ = -1;
  std::byte* base_ = nullptr;
  size_t size_ = 0;
  int32_t device_ = 0;
  struct Impl;
  Impl* impl_ = nullptr;
};

}  // namespace hccl::runtime
