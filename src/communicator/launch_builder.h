// From a validated call to the launch parameters of its plan.
#pragma once

#include "src/communicator/communicator.h"

namespace hccl {

// The count that all ranks hold alike: elements of the vector or of a block; the largest block of
// ReduceScatterV and AllGatherV; 0 for AlltoAllV and AlltoAllVC.
uint64_t agreedCount(const CollectiveCall& call, uint32_t ranks);

// Bytes of the whole operation, as the selector wants them.
uint64_t agreedBytes(const plan::OpDesc& op, uint32_t ranks);

// Of an iteration of the chunk grid; `shared`: all ranks share memory.
uint64_t usualChunkBytes(bool shared);

// `chunkBytes`: of an iteration of the chunk grid. Everything but the sequence
// number; launch.plan and launch.op are set. EI0003 for buffers that overlap in a way that the
// operation does not allow.
Status fillLaunch(const CollectiveCall& call, uint32_t rank, uint32_t ranks, uint64_t bufferBytes,
                  uint64_t chunkBytes, executor::Launch& launch);

}  // namespace hccl
