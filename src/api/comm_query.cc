// Questions to communicators, error texts, groups.
#include <algorithm>
#include <cstring>
#include <string>

#include "src/api/api.h"
#include "src/api/check.h"
#include "src/api/entry.h"
#include "src/communicator/registry.h"

namespace hccl::api {

HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclGetRankSize";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}, {rankSize, "rankSize"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    *rankSize = communicator->size();
    return Status::ok();
  });
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclGetRankId";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}, {rank, "rank"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    *rank = communicator->rank();
    return Status::ok();
  });
}

HcclResult HcclGetCommName(HcclComm comm, char* commName) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclGetCommName";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}, {commName, "commName"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    const std::string& name = communicator->name();  // shorter than the caller's 128 characters
    std::memcpy(commName, name.c_str(), name.size() + 1);
    return Status::ok();
  });
}

HcclResult HcclCommGetHandleWithName(const char* commName, HcclComm* comm) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommGetHandleWithName";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{commName, "commName"}, {comm, "comm"}}));
    *comm = Registry::instance().findByName(commName);
    if (*comm != nullptr) return Status::ok();
    return argumentError(HCCL_E_NOT_FOUND, kOp, commName, "commName",
                         "the name of a communicator of this process");
  });
}

HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclGetCommAsyncError";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}, {asyncError, "asyncError"}}));
    std::shared_ptr<Communicator> communicator;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, comm, &communicator));
    *asyncError = communicator->asyncError().code();
    return Status::ok();
  });
}

const char* HcclGetErrorString(HcclResult code) {
  static constexpr const char* kTexts[] = {"no error",
                                           "parameter error",
                                           "empty pointer",
                                           "memory error",
                                           "internal error",
                                           "not support feature",
                                           "not found specific resource",
                                           "resource unavailable",
                                           "call system interface error",
                                           "timeout",
                                           "open file fail",
                                           "tcp connect fail",
                                           "roce connect fail",
                                           "tcp transfer fail",
                                           "roce transfer fail",
                                           "call runtime api fail",
                                           "call driver api fail",
                                           "call profiling api fail",
                                           "call cce api fail",
                                           "call network api fail",
                                           "try again",
                                           "error cqe",
                                           "error communicator suspending",
                                           "retry constraint",
                                           "out of memory"};
  static_assert(std::size(kTexts) == HCCL_E_OOM + 1);
  const auto number = static_cast<int64_t>(static_cast<int32_t>(code));
  if (number < 0 || number >= HCCL_E_RESERVED) return "unknown error";
  return static_cast<size_t>(number) < std::size(kTexts) ? kTexts[number] : "unknown err";
}

uint32_t HcclGetCommConfigCapability() {
  return HCCL_COMM_CONFIG_RESERVED;
}

HcclResult HcclGroupStart() {
  return entry([] {
    group::start();
    return Status::ok();
  });
}

HcclResult HcclGroupEnd() {
  return entry([] { return group::end(env()); });
}

HcclResult HcclGroupStatusGet(bool* isGroupEnabled) {
  return entry([&]() -> Status {
    HCCL_RETURN_IF_ERROR(checkPointers("HcclGroupStatusGet", {{isGroupEnabled, "isGroupEnabled"}}));
    *isGroupEnabled = group::isOpen();
    return Status::ok();
  });
}

}  // namespace hccl::api
