// What the methods of the process group demand of their arguments; each throws when it is not so.
#pragma once

#include "torch_api.h"

namespace hccl_torch {

// A dense tensor of the CPU; throws otherwise.
void checkTensor(const at::Tensor& tensor, const char* operation);
// The same, for all of them, and all of one type.
void checkTensors(const Tensors& tensors, const char* operation);
// The only tensor of a list; throws when there are more or fewer.
at::Tensor& onlyOf(Tensors& tensors, const char* operation);

// `size` tensors of one type, one for each rank.
void checkSizes(const Tensors& tensors, size_t size, const char* operation);
// The only list of a list of lists.
Tensors& onlyList(std::vector<Tensors>& lists, const char* operation);
void checkRoot(int64_t root, int size);

// True when all tensors have as many elements.
bool equalSizes(const Tensors& tensors);

}  // namespace hccl_torch
