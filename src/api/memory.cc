// Memory that a program announces: windows, registered memory, address ranges, staging.
#include <fmt/core.h>

#include <string>

#include "src/api/api.h"
#include "src/api/check.h"
#include "src/api/entry.h"
#include "src/base/log.h"
#include "src/communicator/windows.h"

namespace hccl::api {
namespace {

// The caller's part of the address space ends here.
constexpr uint64_t kAddressEnd = 1ULL << 57;

Status checkMemory(const char* op, const void* base, uint64_t bytes) {
  if (bytes != 0 && bytes <= kAddressEnd &&
      reinterpret_cast<uint64_t>(base) <= kAddressEnd - bytes) {
    return Status::ok();
  }
  return argumentError(HCCL_E_PARA, op, std::to_string(bytes), "size",
                       "greater than 0, inside the address space");
}

Status checkValue(const char* op, uint64_t value, uint64_t expected, const char* name) {
  if (value == expected) return Status::ok();
  return argumentError(HCCL_E_PARA, op, std::to_string(value), name, std::to_string(expected));
}

}  // namespace

HcclResult HcclCommSetMemoryRange(HcclComm comm, void* baseVirPtr, size_t size, size_t alignment,
                                  uint64_t flags) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommSetMemoryRange";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}, {baseVirPtr, "baseVirPtr"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    HCCL_RETURN_IF_ERROR(checkMemory(kOp, baseVirPtr, size));
    HCCL_RETURN_IF_ERROR(checkValue(kOp, alignment, 0, "alignment"));
    HCCL_RETURN_IF_ERROR(checkValue(kOp, flags, 0, "flags"));
    return setMemoryRange(communicator.get(), baseVirPtr, size);
  });
}

HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void* baseVirPtr) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommUnsetMemoryRange";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}, {baseVirPtr, "baseVirPtr"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    return unsetMemoryRange(communicator.get(), baseVirPtr);
  });
}

HcclResult HcclCommActivateCommMemory(HcclComm comm, void* virPtr, size_t size, size_t offset,
                                      aclrtDrvMemHandle handle, uint64_t flags) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommActivateCommMemory";
    HCCL_RETURN_IF_ERROR(
        checkPointers(kOp, {{comm, "comm"}, {virPtr, "virPtr"}, {handle, "handle"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    HCCL_RETURN_IF_ERROR(checkMemory(kOp, virPtr, size));
    HCCL_RETURN_IF_ERROR(checkValue(kOp, offset, 0, "offset"));
    HCCL_RETURN_IF_ERROR(checkValue(kOp, flags, 0, "flags"));
    return activateMemory(communicator.get(), virPtr, size);
  });
}

HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void* virPtr) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommDeactivateCommMemory";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}, {virPtr, "virPtr"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    return deactivateMemory(communicator.get(), virPtr);
  });
}

HcclResult HcclCommSymWinRegister(HcclComm comm, void* addr, uint64_t size,
                                  HcclCommSymWindow* winHandle, uint32_t flag) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommSymWinRegister";
    HCCL_RETURN_IF_ERROR(
        checkPointers(kOp, {{comm, "comm"}, {addr, "addr"}, {winHandle, "winHandle"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    HCCL_RETURN_IF_ERROR(checkMemory(kOp, addr, size));
    HCCL_RETURN_IF_ERROR(checkValue(kOp, flag, 1, "flag"));
    HCCL_ASSIGN_OR_RETURN(*winHandle, registerWindow(communicator, addr, size));
    HCCL_RUN_INFO("{}: success, comm[{}], addr[{}], size[{}]", kOp, communicator->name(), addr,
                  size);
    return Status::ok();
  });
}

HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle) {
  return entry([&]() -> Status {
    HCCL_RETURN_IF_ERROR(checkPointers("HcclCommSymWinDeregister", {{winHandle, "winHandle"}}));
    return deregisterWindow(winHandle);
  });
}

HcclResult HcclCommSymWinGet(HcclComm comm, void* ptr, size_t size, HcclCommSymWindow* winHandle,
                             size_t* offset) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommSymWinGet";
    HCCL_RETURN_IF_ERROR(checkPointers(
        kOp, {{comm, "comm"}, {ptr, "ptr"}, {winHandle, "winHandle"}, {offset, "offset"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    HCCL_RETURN_IF_ERROR(checkMemory(kOp, ptr, size));
    HCCL_ASSIGN_OR_RETURN(*winHandle, findWindow(communicator.get(), ptr, size, offset));
    return Status::ok();
  });
}

HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle, size_t offset, uint32_t peerRank,
                                    void** ptr) {
  return entry([&]() -> Status {
    HCCL_RETURN_IF_ERROR(
        checkPointers("HcclSymWinGetPeerPointer", {{winHandle, "winHandle"}, {ptr, "ptr"}}));
    HCCL_ASSIGN_OR_RETURN(*ptr, windowPeerPointer(winHandle, offset, peerRank));
    return Status::ok();
  });
}

HcclResult HcclCommRegister(HcclComm comm, void* addr, uint64_t size, void** handle,
                            uint32_t flag) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommRegister";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}, {addr, "addr"}, {handle, "handle"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    HCCL_RETURN_IF_ERROR(checkMemory(kOp, addr, size));
    HCCL_RETURN_IF_ERROR(checkValue(kOp, flag, 0, "flag"));
    HCCL_ASSIGN_OR_RETURN(*handle, registerMemory(communicator.get(), addr, size));
    return Status::ok();
  });
}

HcclResult HcclCommDeregister(HcclComm comm, void* handle) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommDeregister";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}, {handle, "handle"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    return deregisterMemory(communicator.get(), handle);
  });
}

HcclResult HcclCommExchangeMem(HcclComm comm, void* windowHandle, uint32_t* peerRanks,
                               uint32_t peerRankNum) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommExchangeMem";
    HCCL_RETURN_IF_ERROR(checkPointers(
        kOp, {{comm, "comm"}, {windowHandle, "windowHandle"}, {peerRanks, "peerRanks"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    for (uint32_t i = 0; i < peerRankNum; ++i) {
      HCCL_RETURN_IF_ERROR(checkRank(kOp, peerRanks[i], communicator->size(), "peerRanks"));
    }
    return exchangeMemory(communicator, windowHandle, {peerRanks, peerRankNum});
  });
}

HcclResult HcclGetHcclBuffer(HcclComm comm, void** buffer, uint64_t* size) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclGetHcclBuffer";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}, {buffer, "buffer"}, {size, "size"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    HCCL_ASSIGN_OR_RETURN(const auto staging, communicator->stagingBuffer());
    *buffer = staging.first;
    *size = staging.second;
    return Status::ok();
  });
}

}  // namespace hccl::api
