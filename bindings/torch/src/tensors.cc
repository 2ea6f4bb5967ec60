#include "tensors.h"

namespace hccl_torch {
namespace {

// The tensors' own memory as one tensor, undefined if they do not lie one after the other.
at::Tensor ownMemory(const Tensors& tensors) {
  if (tensors.size() == 1) return tensors[0].is_contiguous() ? tensors[0] : at::Tensor();
  int64_t elements = 0;
  const char* next = nullptr;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_contiguous()) return {};
    const auto* data = static_cast<const char*>(tensor.data_ptr());
    const bool sameStorage =
        tensor.storage().data_ptr().get() == tensors[0].storage().data_ptr().get();
    if (next != nullptr && tensor.numel() > 0 && (data != next || !sameStorage)) return {};
    if (tensor.numel() > 0 || next == nullptr) next = data + tensor.nbytes();
    elements += tensor.numel();
  }
  return tensors[0].detach().as_strided({elements}, {1});
}

}  // namespace

void checkTensor(const at::Tensor& tensor, const char* operation) {
  TORCH_CHECK(tensor.layout() == at::kStrided, "hccl: ", operation, " takes dense tensors only");
  TORCH_CHECK(tensor.device().is_cpu(), "hccl: ", operation, " takes CPU tensors only, not ",
              tensor.device());
}

void checkTensors(const Tensors& tensors, const char* operation) {
  TORCH_CHECK(!tensors.empty(), "hccl: ", operation, " needs at least one tensor");
  for (const at::Tensor& tensor : tensors) {
    checkTensor(tensor, operation);
    TORCH_CHECK(tensor.scalar_type() == tensors[0].scalar_type(), "hccl: ", operation,
                " takes tensors of one type, not ", tensors[0].scalar_type(), " and ",
                tensor.scalar_type());
  }
}

at::Tensor& onlyOf(Tensors& tensors, const char* operation) {
  TORCH_CHECK(tensors.size() == 1, "hccl: ", operation, " takes one tensor, not ", tensors.size());
  checkTensor(tensors[0], operation);
  return tensors[0];
}

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
