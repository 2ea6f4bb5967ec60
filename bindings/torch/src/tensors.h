// Tensors as the contiguous memory that HCCL wants.
#pragma once

#include "torch_api.h"

namespace hccl_torch {

// One contiguous block for a list of tensors, one after the other: their own memory when they lie
// like that, else memory of its own. One contiguous tensor stays what it is.
class Block {
 public:
  // Holds what the tensors hold.
  static Block holding(const Tensors& tensors);
  // Has room for what the tensors shall hold; unpack() brings it there.
  static Block roomFor(const Tensors& tensors);

  const at::Tensor& flat() const { return flat_; }
  void* data() const { return flat_.data_ptr(); }
  int64_t elements() const { return flat_.numel(); }
  void unpack() const;

 private:
  Block(at::Tensor flat, Tensors scattered)
      : flat_(std::move(flat)), scattered_(std::move(scattered)) {}

  at::Tensor flat_;
  Tensors scattered_;  // empty when flat_ is the tensors' own memory
};

// True when the two share memory.
bool overlap(const at::Tensor& a, const at::Tensor& b);

}  // namespace hccl_torch
