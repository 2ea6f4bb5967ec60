#include "src/runtime/arena_space.h"

namespace hccl::runtime {

bool ArenaSpace::fits(const Map::value_type& range, uint64_t bytes, uint64_t alignment,
                      uint64_t* offset) {
  const uint64_t start = (range.first + alignment - 1) & ~(alignment - 1);
  const uint64_t lost = start - range.first;
  if (range.second.bytes < lost || range.second.bytes - lost < bytes) return false;
  *offset = start;
  return true;
}

std::optional<ArenaSpace::Range> ArenaSpace::take(uint64_t bytes, uint64_t alignment) {
  auto best = free_.end();
  uint64_t bestOffset = 0;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    uint64_t offset = 0;
    if (!fits(*it, bytes, alignment, &offset)) continue;
    const bool better =
        best == free_.end() || (it->second.populated &&
                                (!best->second.populated || it->second.bytes < best->second.bytes));
    if (better) {
      best = it;
      bestOffset = offset;
    }
  }
  if (best == free_.end()) return std::nullopt;
  const uint64_t start = best->first;
  const Free range = best->second;
  free_.erase(best);
  if (range.populated) cached_ -= range.bytes;
  if (bestOffset > start) insert(start, bestOffset - start, range.populated);
  const uint64_t end = start + range.bytes;
  if (bestOffset + bytes < end) {
    insert(bestOffset + bytes, end - bestOffset - bytes, range.populated);
  }
  return Range{bestOffset, bytes, range.populated};
}

void ArenaSpace::insert(uint64_t offset, uint64_t bytes, bool populated) {
  free_[offset] = {bytes, populated};
  if (populated) cached_ += bytes;
}

void ArenaSpace::give(const Range& range) {
  uint64_t offset = range.offset;
  uint64_t bytes = range.bytes;
  if (range.populated) cached_ += range.bytes;
  auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + bytes &&
      after->second.populated == range.populated) {
    bytes += after->second.bytes;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second.bytes == offset &&
        before->second.populated == range.populated) {
      before->second.bytes += bytes;
      return;
    }
  }
  free_[offset] = {bytes, range.populated};
}

std::optional<ArenaSpace::Range> ArenaSpace::evict() {
  auto largest = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second.populated &&
        (largest == free_.end() || it->second.bytes > largest->second.bytes)) {
      largest = it;
    }
  }
  if (largest == free_.end()) return std::nullopt;
  const Range range{largest->first, largest->second.bytes, false};
  cached_ -= range.bytes;
  free_.erase(largest);
  give(range);
  return range;
}

uint64_t ArenaSpace::freeBytes() const {
  uint64_t total = 0;
  for (const auto& [offset, range] : free_) total += range.bytes;
  return total;
}

}  // namespace hccl::runtime
