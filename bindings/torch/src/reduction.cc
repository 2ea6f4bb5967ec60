#include "reduction.h"

namespace hccl_torch {
namespace {

using Op = c10d::ReduceOp::RedOpType;

bool isBitwise(Op op) {
  return op == Op::BAND || op == Op::BOR || op == Op::BXOR;
}

HcclReduceOp plainOp(Op op) {
  switch (op) {
    case Op::SUM:
    case Op::AVG:
      return HCCL_REDUCE_SUM;
    case Op::PRODUCT:
      return HCCL_REDUCE_PROD;
    case Op::MIN:
      return HCCL_REDUCE_MIN;
    case Op::MAX:
      return HCCL_REDUCE_MAX;
    default:
      TORCH_CHECK(false, "hccl: this reduction (PREMUL_SUM) is not offered");
  }
}

// Truth values are bytes of 0 and 1. A sum is "any", as PyTorch's other backends have it.
Reduction ofBool(Op op) {
  Reduction plan{
      at::kBool, HCCL_DATA_TYPE_INT8, 1, HCCL_REDUCE_MAX, Reduction::After::kNothing, false, op};
  switch (op) {
    case Op::SUM:
    case Op::MAX:
    case Op::BOR:
      return plan;
    case Op::PRODUCT:
    case Op::MIN:
    case Op::BAND:
      plan.op = HCCL_REDUCE_MIN;
      return plan;
    case Op::BXOR:
      plan.op = HCCL_REDUCE_SUM;
      plan.after = Reduction::After::kParity;
      return plan;
    default:
      TORCH_CHECK(false, "hccl: AVG is not defined for bool tensors");
  }
}

}  // namespace

Elements Elements::of(at::ScalarType type) {
  switch (type) {
    case at::kChar:
      return {HCCL_DATA_TYPE_INT8, 1};
    case at::kShort:
      return {HCCL_DATA_TYPE_INT16, 1};
    case at::kInt:
      return {HCCL_DATA_TYPE_INT32, 1};
    case at::kLong:
      return {HCCL_DATA_TYPE_INT64, 1};
    case at::kHalf:
      return {HCCL_DATA_TYPE_FP16, 1};
    case at::kBFloat16:
      return {HCCL_DATA_TYPE_BFP16, 1};
    case at::kFloat:
      return {HCCL_DATA_TYPE_FP32, 1};
    case at::kDouble:
      return {HCCL_DATA_TYPE_FP64, 1};
    case at::kComplexFloat:
      return {HCCL_DATA_TYPE_FP32, 2};
    case at::kComplexDouble:
      return {HCCL_DATA_TYPE_FP64, 2};
    default:
      return {HCCL_DATA_TYPE_UINT8, c10::elementSize(type)};
  }
}

Reduction Reduction::of(at::ScalarType type, Op op) {
  if (type == at::kBool) return ofBool(op);
  const bool integer = c10::isIntegralType(type, false);
  const bool complex = c10::isComplexType(type);
  if (isBitwise(op)) {
    TORCH_CHECK(integer, "hccl: bitwise reductions take integers and bool, not ", type);
    const Elements elements = Elements::of(type);
    return {type, elements.type, elements.perElement, HCCL_REDUCE_SUM, After::kNothing, true, op};
  }
  TORCH_CHECK(op != Op::AVG || !integer, "hccl: AVG takes floating-point tensors, not ", type);
  TORCH_CHECK(!complex || op == Op::SUM || op == Op::AVG,
              "hccl: complex tensors can be summed and averaged only");
  at::ScalarType wire = type;
  if (type == at::kByte && (op == Op::MAX || op == Op::MIN)) wire = at::kShort;
  if (type == at::kShort && op == Op::PRODUCT) wire = at::kInt;
  if (type == at::kBFloat16 && op == Op::PRODUCT) wire = at::kFloat;
  Elements elements = Elements::of(wire);
  // Sums and products that wrap have the same bits with and without a sign.
  if (wire == at::kByte) elements.type = HCCL_DATA_TYPE_INT8;
  TORCH_CHECK(elements.type != HCCL_DATA_TYPE_UINT8, "hccl: tensors of ", type,
              " can be moved, not reduced");
  return {wire,
          elements.type,
          elements.perElement,
          plainOp(op),
          op == Op::AVG ? After::kDivide : After::kNothing,
          false,
          op};
}

void Reduction::finish(const at::Tensor& result, int ranks) const {
  if (after == After::kDivide) result.div_(ranks);
  if (after == After::kParity) result.view(at::kByte).bitwise_and_(1);
}

void Reduction::combine(const at::Tensor& result, const at::Tensor& parts) const {
  result.copy_(parts[0].view_as(result));
  for (int64_t i = 1; i < parts.size(0); ++i) {
    const at::Tensor part = parts[i].view_as(result);
    if (torchOp == Op::BAND) {
      result.bitwise_and_(part);
    } else if (torchOp == Op::BOR) {
      result.bitwise_or_(part);
    } else {
      result.bitwise_xor_(part);
    }
  }
}

}  // namespace hccl_torch
