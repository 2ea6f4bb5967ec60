// Memory that a program announced to a communicator: symmetric windows, registered memory, and
// address ranges. On a host all of it means "known, used without a copy"; a window also tells where
// the peers' parts are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hccl/hccl_types.h"
#include "src/base/status.h"
#include "src/communicator/communicator.h"

namespace hccl {

using CommunicatorPtr = std::shared_ptr<Communicator>;

// Collective: exchanges the ranks' parts through the communicator. Errors: HCCL_E_PARA (EI0003)
// when the ranks' sizes differ or the size is above hcclSymWinMaxMemSizePerRank; errors of the
// communicator.
Result<HcclCommSymWindow> registerWindow(const CommunicatorPtr& communicator, void* address,
                                         uint64_t bytes);
// HCCL_E_PARA for an unknown window.
Status deregisterWindow(HcclCommSymWindow window);
// The newest window that holds [address, address + bytes). Errors: HCCL_E_NOT_FOUND.
Result<HcclCommSymWindow> findWindow(const Communicator* communicator, const void* address,
                                     size_t bytes, size_t* offset);
// Errors: HCCL_E_PARA (window, offset, rank), HCCL_E_NOT_SUPPORT with EI0010.
Result<void*> windowPeerPointer(HcclCommSymWindow window, size_t offset, uint32_t peer);

Result<void*> registerMemory(const Communicator* communicator, void* address, uint64_t bytes);
Status deregisterMemory(const Communicator* communicator, void* handle);
// Both ends of each pair call it; blocks until they have.
Status exchangeMemory(const CommunicatorPtr& communicator, void* handle,
                      std::span<const uint32_t> peers);

// Ranges do not overlap each other; active parts lie inside one range and do not overlap. Errors:
// HCCL_E_PARA.
Status setMemoryRange(const Communicator* communicator, void* base, size_t bytes);
Status unsetMemoryRange(const Communicator* communicator, void* base);
Status activateMemory(const Communicator* communicator, void* address, size_t bytes);
Status deactivateMemory(const Communicator* communicator, void* address);

// Frees all of it, at the end of the communicator.
void forgetMemory(const Communicator* communicator);

}  // namespace hccl
