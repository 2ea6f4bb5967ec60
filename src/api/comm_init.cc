// Making and ending communicators.
#include <fmt/core.h>

#include <set>
#include <string>
#include <vector>

#include "src/api/api.h"
#include "src/api/check.h"
#include "src/api/entry.h"
#include "src/base/log.h"
#include "src/communicator/config.h"
#include "src/communicator/initialize.h"
#include "src/runtime/engine.h"

namespace hccl::api {
namespace {

struct RootCall {
  const char* op;
  uint32_t nRanks;
  uint32_t nRoots;
  const HcclRootInfo* roots;
  uint32_t rank;
  const HcclCommConfig* config;  // may be NULL
  HcclComm* comm;
};

Status initRootInfo(const RootCall& call) {
  HCCL_RETURN_IF_ERROR(checkPointers(call.op, {{call.comm, "comm"}, {call.roots, "rootInfo"}}));
  if (call.nRanks == 0) {
    return argumentError(HCCL_E_PARA, call.op, "0", "nRanks", "greater than 0");
  }
  if (call.rank >= call.nRanks) {
    return argumentError(HCCL_E_PARA, call.op, std::to_string(call.rank), "rank",
                         fmt::format("less than nRanks {}", call.nRanks));
  }
  if (call.nRoots == 0 || call.nRoots > call.nRanks) {
    return argumentError(HCCL_E_PARA, call.op, std::to_string(call.nRoots), "nRoot",
                         fmt::format("1 to nRanks {}", call.nRanks));
  }
  JoinRequest request;
  HCCL_RETURN_IF_ERROR(currentDevice(call.op, &request.device));
  HCCL_ASSIGN_OR_RETURN(request.config, loadConfig(call.config, env(), call.op));
  request.nRanks = call.nRanks;
  request.rank = call.rank;
  request.roots.assign(call.roots, call.roots + call.nRoots);
  if (group::isOpen()) return group::addInitialization(std::move(request), call.comm);
  HCCL_ASSIGN_OR_RETURN(*call.comm, joinByRoots(request.roots, request.nRanks, request.rank,
                                                request.device, request.config, env()));
  return Status::ok();
}

Status getRootInfo(const char* op, HcclRootInfo* rootInfo) {
  HCCL_RETURN_IF_ERROR(checkPointers(op, {{rootInfo, "rootInfo"}}));
  int32_t device = 0;
  HCCL_RETURN_IF_ERROR(currentDevice(op, &device));
  HCCL_RUN_INFO("Entry-{}:rootInfo[{}], deviceLogicId[{}]", op, static_cast<void*>(rootInfo),
                device);
  HCCL_ASSIGN_OR_RETURN(*rootInfo, makeRootInfo(device));
  return Status::ok();
}

Status initClusterInfo(const char* op, const char* clusterInfo, uint32_t rank,
                       const HcclCommConfig* config, HcclComm* comm) {
  HCCL_RETURN_IF_ERROR(checkPointers(op, {{clusterInfo, "clusterInfo"}, {comm, "comm"}}));
  HCCL_ASSIGN_OR_RETURN(const LoadedConfig loaded, loadConfig(config, env(), op));
  TableRequest request;
  bool hasDevice = false;
  request.device = runtime::currentDevice(&hasDevice);
  if (!hasDevice) request.device = -1;
  request.table = clusterInfo;
  request.rank = rank;
  HCCL_RUN_INFO("Entry-{}: clusterInfo[{}], rank[{}], deviceLogicId[{}].", op, clusterInfo, rank,
                request.device);
  HCCL_ASSIGN_OR_RETURN(*comm, joinWorld(request, loaded, env()));
  return Status::ok();
}

}  // namespace

HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
  return entry([&] { return getRootInfo("HcclGetRootInfo", rootInfo); });
}

HcclResult HcclGetRootInfoScalable(HcclRootInfo* rootInfo) {
  return entry([&] { return getRootInfo("HcclGetRootInfoScalable", rootInfo); });
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                HcclComm* comm) {
  return groupEntry([&] {
    return initRootInfo({"HcclCommInitRootInfo", nRanks, 1, rootInfo, rank, nullptr, comm});
  });
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                      const HcclCommConfig* config, HcclComm* comm) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclCommInitRootInfoConfig";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{config, "config"}}));
    return initRootInfo({kOp, nRanks, 1, rootInfo, rank, config, comm});
  });
}

HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot,
                                        const HcclRootInfo* rootInfoList, uint32_t rank,
                                        uint32_t nExtRoot, const HcclCommConfig* config,
                                        HcclComm* comm) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclCommInitRootInfoScalable";
    if (nExtRoot != 0) {
      return argumentError(HCCL_E_PARA, kOp, std::to_string(nExtRoot), "nExtRoot", "0");
    }
    return initRootInfo({kOp, nRanks, nRoot, rootInfoList, rank, config, comm});
  });
}

HcclResult HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank, HcclComm* comm) {
  return entry(
      [&] { return initClusterInfo("HcclCommInitClusterInfo", clusterInfo, rank, nullptr, comm); });
}

HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank,
                                         HcclCommConfig* config, HcclComm* comm) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommInitClusterInfoConfig";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{config, "config"}}));
    return initClusterInfo(kOp, clusterInfo, rank, config, comm);
  });
}

HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds,
                                   uint64_t subCommId, uint32_t subCommRankId,
                                   HcclCommConfig* config, HcclComm* subComm) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCreateSubCommConfig";
    constexpr uint64_t kNoMember = 0xFFFFFFFF;
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{comm, "comm"}}));
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{*comm, "*comm"}}));
    if (rankIds == nullptr && subCommId == kNoMember) return Status::ok();
    if (rankIds == nullptr || subCommId == kNoMember) {
      return argumentError(HCCL_E_PARA, kOp, rankIds == nullptr ? "nullptr" : "4294967295",
                           rankIds == nullptr ? "rankIds" : "subCommId",
                           "a list of ranks with an id, or nullptr with 4294967295");
    }
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{config, "config"}, {subComm, "subComm"}}));
    if (rankNum == 0) {
      return argumentError(HCCL_E_PARA, kOp, "0", "rankNum", "greater than 0");
    }
    if (subCommRankId >= rankNum) {
      return argumentError(HCCL_E_PARA, kOp, std::to_string(subCommRankId), "subCommRankId",
                           fmt::format("less than rankNum {}", rankNum));
    }
    std::shared_ptr<Communicator> parent;
    HCCL_RETURN_IF_ERROR(findCommunicator(kOp, *comm, &parent));
    HCCL_ASSIGN_OR_RETURN(const LoadedConfig loaded, loadConfig(config, env(), kOp));
    HCCL_RUN_INFO("Entry-{}: rankNum[{}], rank[{}], deviceLogicId[{}]", kOp, rankNum, subCommRankId,
                  parent->device());
    HCCL_ASSIGN_OR_RETURN(*subComm, createSubCommunicator(*parent, {rankIds, rankNum}, subCommId,
                                                          subCommRankId, loaded));
    return Status::ok();
  });
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclCommInitAll";
    if (ndev == 0) return argumentError(HCCL_E_PARA, kOp, "0", "ndev", "greater than 0");
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{devices, "devices"}, {comms, "comms"}}));
    std::set<int32_t> seen;
    for (uint32_t i = 0; i < ndev; ++i) {
      const bool exists =
          devices[i] >= 0 && static_cast<uint32_t>(devices[i]) < runtime::deviceCount();
      if (exists && seen.insert(devices[i]).second) continue;
      return argumentError(HCCL_E_PARA, kOp, std::to_string(devices[i]), "devices",
                           fmt::format("different devices below {}", runtime::deviceCount()));
    }
    HCCL_RUN_INFO("Entry-{}: ndev[{}], device[{}]", kOp, ndev, devices[0]);
    HCCL_ASSIGN_OR_RETURN(const std::vector<HcclComm> handles, joinAll({devices, ndev}, env()));
    std::copy(handles.begin(), handles.end(), comms);
    return Status::ok();
  });
}

HcclResult HcclCommDestroy(HcclComm comm) {
  return entry([&]() -> Status {
    if (comm != nullptr) return destroyCommunicator(comm);
    HCCL_WARNING("HcclCommDestroy: the communicator is NULL, nothing is done");
    return Status::ok();
  });
}

}  // namespace hccl::api
