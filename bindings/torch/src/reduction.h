// How a reduction of PyTorch is done with those that HCCL has.
#pragma once

#include <cstdint>

#include "hccl/hccl_types.h"
#include "torch_api.h"

namespace hccl_torch {

// The type under which elements are moved; types that HCCL does not know go as bytes.
struct Elements {
  HcclDataType type;
  uint64_t perElement;  // units of `type` in one element of the tensor

  static Elements of(at::ScalarType type);
};

struct Reduction {
  enum class After { kNothing, kDivide, kParity };

  // What is reduced: the tensor as it is, or converted to another type and back afterwards.
  at::ScalarType wire;
  HcclDataType type;
  uint64_t perElement;
  HcclReduceOp op;
  After after;
  // HCCL has no such reduction: the inputs are exchanged and combined here, in the order of ranks.
  bool local;
  c10d::ReduceOp::RedOpType torchOp;

  // Throws for what cannot be reduced.
  static Reduction of(at::ScalarType type, c10d::ReduceOp::RedOpType op);

  // What is left to do to a result in the tensor's own type.
  void finish(const at::Tensor& result, int ranks) const;
  // result = parts[0] op parts[1] op ...
  void combine(const at::Tensor& result, const at::Tensor& parts) const;
};

}  // namespace hccl_torch
