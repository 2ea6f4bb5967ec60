// Tensors in device memory, which ranks of one server read where it lies.
#pragma once

#include <cstddef>

#include "torch_api.h"

namespace hccl_torch {

// From now on CPU tensors of at least `leastBytes` bytes that the calling thread, or the threads
// that compute for it, make lie in the device's memory; 0 ends that. Tensors that exist stay where
// they are. Needs an open device.
void useArena(size_t leastBytes);

// True for a tensor whose memory useArena() placed.
bool isInArena(const at::Tensor& tensor);

}  // namespace hccl_torch
