#include "tensors.h"

namespace hccl_torch {
namespace {

// The tensors' own memory as one tensor, undefined if they do not lie one after the other.
at::Tensor ownMemory(const Tensors& tensors) {
  if (tensors.size() == 1) return tensors[0].is_contiguous() ? tensors[0] : at::Tensor();
  const at::Tensor* first = nullptr;  // that holds anything
  int64_t elements = 0;
  const char* next = nullptr;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_contiguous()) return {};
    if (tensor.numel() == 0) continue;
    const auto* data = static_cast<const char*>(tensor.data_ptr());
    if (first == nullptr) {
      first = &tensor;
    } else if (data != next ||
               tensor.storage().data_ptr().get() != first->storage().data_ptr().get()) {
      return {};
    }
    next = data + tensor.nbytes();
    elements += tensor.numel();
  }
  if (first == nullptr) return tensors[0].detach().reshape({0});
  return first->detach().as_strided({elements}, {1});
}

}  // namespace

Block Block::roomFor(const Tensors& tensors) {
  const at::NoGradGuard plainMemory;
  at::Tensor own = ownMemory(tensors);
  if (own.defined()) return {own, {}};
  int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  return {at::empty({elements}, tensors[0].options()), tensors};
}

Block Block::holding(const Tensors& tensors) {
  Block block = roomFor(tensors);
  const at::NoGradGuard plainMemory;
  int64_t at = 0;
  for (const at::Tensor& tensor : block.scattered_) {
    block.flat_.narrow(0, at, tensor.numel()).view(tensor.sizes()).copy_(tensor);
    at += tensor.numel();
  }
  return block;
}

void Block::unpack() const {
  int64_t at = 0;
  for (const at::Tensor& tensor : scattered_) {
    at::Tensor target = tensor;
    target.copy_(flat_.narrow(0, at, tensor.numel()).view(tensor.sizes()));
    at += tensor.numel();
  }
}

bool overlap(const at::Tensor& a, const at::Tensor& b) {
  const auto* begin = static_cast<const char*>(a.data_ptr());
  const auto* other = static_cast<const char*>(b.data_ptr());
  return begin < other + b.nbytes() && other < begin + a.nbytes();
}

}  // namespace hccl_torch
