// PeerMemory: another process' arena, mapped once in this process and shared by all links to it;
// and that process' doorbell.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/fd.h"
#include "src/base/mapping.h"
#include "src/base/status.h"
#include "transport/control_thread.h"

namespace hccl::transport {

class PeerDoorbell {
 public:
  // The process' doorbell, mapped on first use; the descriptors are dropped when it is known
  // already.
  static Result<std::shared_ptr<PeerDoorbell>> of(const std::string& process, UniqueFd page,
                                                  UniqueFd event);

  // Wakes the process when one of its threads sleeps. Call after publishing.
  void ring() noexcept;

 private:
  Mapping page_;
  const std::atomic<uint32_t>* sleepers_ = nullptr;
  GuardedFd event_;
};

class PeerMemory {
 public:
  // The arena of a process' device, mapped on first use. Errors when the descriptor is not a memfd
  // of `size` bytes that is sealed against shrinking (reading beyond its end would kill this
  // process).
  static Result<std::shared_ptr<PeerMemory>> of(const std::string& process, int32_t device,
                                                uint64_t size, UniqueFd arena);

  // nullptr when [offset, offset + bytes) is not inside. Populates pages on first use.
  std::byte* resolve(uint64_t offset, size_t bytes) noexcept;
  size_t size() const { return memory_.size(); }

  // Arenas mapped now (for tests).
  static size_t mappedCount();

 private:
  void populate(uint64_t offset, size_t bytes) noexcept;
  bool populated(size_t firstPage, size_t lastPage) const noexcept;

  Mapping memory_;
  Mapping bitmap_;  // a bit for each page that was populated once
  std::atomic<uint64_t>* bits_ = nullptr;
};

}  // namespace hccl::transport
