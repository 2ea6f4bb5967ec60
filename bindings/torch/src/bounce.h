// Device memory that stands in for a tensor's own while an operation works on it. Ranks of one
// server work on device memory where it lies; other memory they stage in pieces, which costs more
// than two copies of the whole.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "torch_api.h"

namespace hccl_torch {

class BouncePool {
 public:
  static BouncePool& instance();

  // A flat tensor of that type with room for `like`, not filled; undefined when `like` is in device
  // memory already, or so short or so long that it is better left where it is, or no memory is
  // left. The memory comes back to the pool with the last reference.
  at::Tensor borrow(const at::Tensor& like, at::ScalarType type);

 private:
  static constexpr size_t kLeast = size_t{8} << 10;
  static constexpr size_t kMost = size_t{64} << 20;
  static constexpr size_t kClasses = 14;  // powers of two from kLeast to kMost
  // Of the process, and kept until it ends: many operations at once do not double its memory.
  static constexpr size_t kTotal = size_t{256} << 20;

  void* take(size_t sizeClass);

  std::mutex mutex_;
  std::array<std::vector<void*>, kClasses> idle_;
  size_t allocated_ = 0;
};

}  // namespace hccl_torch
