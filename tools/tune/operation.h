// The operations that are measured: on which counts of elements, and how they are called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hccl/hccl.h"

namespace hccl::tune {

struct Operation {
  HcclCMDType type = HCCL_CMD_ALLREDUCE;
  std::string token;  // as in HCCL_ALGO
};
// By the names that hccl_info takes, or those of HCCL_ALGO.
std::optional<Operation> findOperation(const std::string& name);
const std::vector<Operation>& allOperations();

// Elements (fp32) of the vector or of a rank's block, so that the whole operation has about
// `bytes`.
uint64_t countFor(const Operation& op, uint64_t bytes, uint32_t ranks);
uint64_t bytesFor(const Operation& op, uint64_t count, uint32_t ranks);

// Root 0, sum. Buffers hold the whole operation.
void call(const Operation& op, float* in, float* out, uint64_t count, HcclComm comm,
          aclrtStream stream);

}  // namespace hccl::tune
