// ArenaSpace: which byte ranges of an arena are free, and which of those still have their pages.
// Pure bookkeeping; the arena guards it with its lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace hccl::runtime {

class ArenaSpace {
 public:
  explicit ArenaSpace(uint64_t size) : size_(size) { free_[0] = {size, false}; }

  struct Range {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    bool populated = false;  // its pages are there (and hold old data)
  };

  // A free range of exactly `bytes`: the smallest populated one that fits, else the first without
  // pages. Sizes and alignments are multiples of a page.
  std::optional<Range> take(uint64_t bytes, uint64_t alignment);
  // Gives a range back and joins it with neighbours of its kind.
  void give(const Range& range);
  // Turns the largest populated free range into one without pages (the caller frees them).
  std::optional<Range> evict();

  uint64_t size() const { return size_; }
  uint64_t cachedBytes() const { return cached_; }  // of populated free ranges
  uint64_t freeBytes() const;
  size_t fragments() const { return free_.size(); }

 private:
  struct Free {
    uint64_t bytes;
    bool populated;
  };
  using Map = std::map<uint64_t, Free>;
  static bool fits(const Map::value_type& range, uint64_t bytes, uint64_t alignment,
                   uint64_t* offset);
  void insert(uint64_t offset, uint64_t bytes, bool populated);

  uint64_t size_;
  uint64_t cached_ = 0;
  Map free_;  // by offset
};

}  // namespace hccl::runtime
