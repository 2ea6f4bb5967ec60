// MemoryWatch: which memory stays where it is until the library itself hears of its end, and who
// wants to know that end. Registrations with network devices are kept for such memory only: of
// other memory nobody tells when it is unmapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace hccl::runtime {

struct MemoryRange {
  std::byte* begin = nullptr;
  size_t bytes = 0;
  bool holds(const std::byte* at, size_t length) const {
    return at >= begin && length <= bytes && static_cast<size_t>(at - begin) <= bytes - length;
  }
  bool overlaps(const MemoryRange& other) const {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

class MemoryWatcher {
 public:
  virtual ~MemoryWatcher() = default;
  // From now on the range may hold something else. May be called under the allocator's lock: must
  // not call back into it.
  virtual void onMemoryLeaves(const MemoryRange& range) noexcept = 0;
};

// A watcher is not called any more when removeMemoryWatcher has returned. Thread safe.
void addMemoryWatcher(MemoryWatcher* watcher);
void removeMemoryWatcher(MemoryWatcher* watcher);
void memoryLeaves(const MemoryRange& range);

// Memory that the program has registered, and keeps until it takes that back. Ranges may be kept
// several times, and overlap.
void keepMemory(const MemoryRange& range);
void unkeepMemory(const MemoryRange& range);
// A kept range that holds all of [at, at + bytes).
std::optional<MemoryRange> keptMemory(const std::byte* at, size_t bytes);

}  // namespace hccl::runtime
