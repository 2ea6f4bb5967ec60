// Argument checks, in the words of EI0003. `op` is the public function's name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>

#include "hccl/hccl_types.h"
#include "src/base/status.h"
#include "src/communicator/communicator.h"
#include "src/runtime/stream.h"

namespace hccl::api {

// Elements that one count may say: 35 bits.
inline constexpr uint64_t kMaxCount = 0x7FFFFFFFFULL;

struct NamedPointer {
  const void* pointer;
  const char* name;
};
// HCCL_E_PTR for the first NULL one.
Status checkPointers(const char* op, std::initializer_list<NamedPointer> pointers);

// HCCL_E_PARA for an unknown or destroyed handle.
Status findCommunicator(const char* op, HcclComm handle, std::shared_ptr<Communicator>* out);

// Where an operation goes. `handle` is the public one of `stream`.
struct Target {
  std::shared_ptr<Communicator> comm;
  runtime::Stream* stream = nullptr;
  void* handle = nullptr;
};
Status findTarget(const char* op, HcclComm comm, void* stream, Target* out);

// HCCL_E_PARA above kMaxCount.
Status checkCount(const char* op, uint64_t count, const char* name);
// HCCL_E_PARA at or above `size`.
Status checkRank(const char* op, uint32_t rank, uint32_t size, const char* name);
// HCCL_E_NOT_SUPPORT: EI0003 of "CheckDataType", "CheckReduceDataType".
Status checkType(HcclDataType type);
Status checkReduction(HcclDataType type, HcclReduceOp op);

// The calling thread's device. HCCL_E_RUNTIME when it has none.
Status currentDevice(const char* op, int32_t* device);

}  // namespace hccl::api
