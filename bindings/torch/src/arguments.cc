#include "arguments.h"

namespace hccl_torch {

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

void checkSizes(const Tensors& tensors, size_t size, const char* operation) {
  TORCH_CHECK(tensors.size() == size, "hccl: ", operation, " needs one tensor for each of the ",
              size, " ranks, not ", tensors.size());
  checkTensors(tensors, operation);
}

Tensors& onlyList(std::vector<Tensors>& lists, const char* operation) {
  TORCH_CHECK(lists.size() == 1, "hccl: ", operation, " takes one list of tensors, not ",
              lists.size());
  return lists[0];
}

bool equalSizes(const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() != tensors[0].numel()) return false;
  }
  return true;
}

void checkRoot(int64_t root, int size) {
  TORCH_CHECK(root >= 0 && root < size, "hccl: root rank ", root, " is not one of ", size,
              " ranks");
}

}  // namespace hccl_torch
