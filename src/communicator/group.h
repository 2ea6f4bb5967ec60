// Groups: between start and end a thread's calls are queued; the outermost end runs them. One group
// holds one kind of call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/env.h"
#include "src/base/status.h"
#include "src/communicator/communicator.h"
#include "src/communicator/opening.h"

namespace hccl::group {

enum class Kind { kNone, kManagement, kCollective, kPointToPoint };

// The calling thread's nesting depth. The variable is thread local.
inline thread_local uint32_t depth = 0;
inline bool isOpen() {
  return depth != 0;
}

void start();
// The first error of the group: of a call that was refused (nothing runs then), else of the calls
// that run now. HCCL_E_NOT_SUPPORT without start().
Status end(const Environment& environment);

// Notes that a call of the open group was refused. Returns the error.
Status refuse(Status error);

// Queue a validated call. HCCL_E_NOT_SUPPORT (EI0003) when the group holds another kind. Arrays
// that the call points to are copied. `stream` is the public handle.
Status addCollective(std::shared_ptr<Communicator> communicator, const CollectiveCall& call,
                     void* stream);
Status addTransfer(std::shared_ptr<Communicator> communicator, const executor::TransferItem& item,
                   void* stream);
// The handle is written to *out at the end; until then it is nullptr.
Status addInitialization(JoinRequest request, HcclComm* out);
// HcclBatchSendRecv: never allowed.
Status refuseBatch();

}  // namespace hccl::group
