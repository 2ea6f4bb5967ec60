// The Hcom functions of graph frameworks: groups by name.
#include "src/communicator/hcom.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "src/api/api.h"
#include "src/api/check.h"
#include "src/api/entry.h"
#include "src/base/log.h"
#include "src/communicator/config.h"
#include "src/communicator/initialize.h"
#include "src/runtime/engine.h"

namespace hccl::api {

HcclResult HcomInitByRankTable(const char* rankTable, uint32_t rankId) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcomInitByRankTable";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{rankTable, "rankTable"}}));
    HCCL_ASSIGN_OR_RETURN(const LoadedConfig config, loadConfig(nullptr, env(), kOp));
    TableRequest request;
    bool hasDevice = false;
    request.device = runtime::currentDevice(&hasDevice);
    if (!hasDevice) request.device = -1;
    request.table = rankTable;
    request.isText = true;
    request.rank = rankId;
    HCCL_RUN_INFO("Entry-{}: rank[{}], deviceLogicId[{}].", kOp, rankId, request.device);
    return joinWorld(request, config, env()).status();
  });
}

HcclResult HcomDestroy() {
  return entry([] { return hcom::destroyWorld(); });
}

HcclResult HcomCreateGroup(const char* group, uint32_t rankNum, uint32_t* rankIds) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcomCreateGroup";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{group, "group"}, {rankIds, "rankIds"}}));
    if (rankNum == 0) return argumentError(HCCL_E_PARA, kOp, "0", "rankNum", "greater than 0");
    return hcom::create(group, {rankIds, rankNum}, env());
  });
}

HcclResult HcomDestroyGroup(const char* group) {
  return entry([&] { return hcom::destroy(group); });
}

HcclResult HcomGetCommHandleByGroup(const char* group, HcclComm* commHandle) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcomGetCommHandleByGroup";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{commHandle, "commHandle"}}));
    HCCL_ASSIGN_OR_RETURN(const hcom::Group found, hcom::find(kOp, group));
    *commHandle = found.handle;
    return Status::ok();
  });
}

HcclResult HcomGetRankSize(const char* group, uint32_t* rankSize) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcomGetRankSize";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{rankSize, "rankSize"}}));
    HCCL_ASSIGN_OR_RETURN(const hcom::Group found, hcom::find(kOp, group));
    *rankSize = found.communicator->size();
    return Status::ok();
  });
}

HcclResult HcomGetRankId(const char* group, uint32_t* rankId) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcomGetRankId";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{rankId, "rankId"}}));
    HCCL_ASSIGN_OR_RETURN(const hcom::Group found, hcom::find(kOp, group));
    *rankId = found.communicator->rank();
    return Status::ok();
  });
}

HcclResult HcomGetLocalRankSize(const char* group, uint32_t* localRankSize) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcomGetLocalRankSize";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{localRankSize, "localRankSize"}}));
    HCCL_ASSIGN_OR_RETURN(const hcom::Group found, hcom::find(kOp, group));
    const Cluster& cluster = found.communicator->cluster();
    const auto servers = cluster.servers();
    const uint32_t own = cluster.serverIndex(found.communicator->rank());
    *localRankSize = static_cast<uint32_t>(servers[own].ranks.size());
    return Status::ok();
  });
}

HcclResult HcomGetLocalRankId(const char* group, uint32_t* localRankId) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcomGetLocalRankId";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{localRankId, "localRankId"}}));
    HCCL_ASSIGN_OR_RETURN(const hcom::Group found, hcom::find(kOp, group));
    *localRankId = found.communicator->cluster().localIndex(found.communicator->rank());
    return Status::ok();
  });
}

HcclResult HcomGetWorldRankFromGroupRank(const char* group, uint32_t groupRank,
                                         uint32_t* worldRank) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcomGetWorldRankFromGroupRank";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{worldRank, "worldRank"}}));
    HCCL_ASSIGN_OR_RETURN(const hcom::Group found, hcom::find(kOp, group));
    HCCL_RETURN_IF_ERROR(checkRank(kOp, groupRank, found.communicator->size(), "groupRank"));
    *worldRank =
        found.communicator->isSubComm() ? found.communicator->worldRanks()[groupRank] : groupRank;
    return Status::ok();
  });
}

HcclResult HcomGetGroupRankFromWorldRank(uint32_t worldRank, const char* group,
                                         uint32_t* groupRank) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcomGetGroupRankFromWorldRank";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{groupRank, "groupRank"}}));
    HCCL_ASSIGN_OR_RETURN(const hcom::Group found, hcom::find(kOp, group));
    if (!found.communicator->isSubComm()) {
      HCCL_RETURN_IF_ERROR(checkRank(kOp, worldRank, found.communicator->size(), "worldRank"));
      *groupRank = worldRank;
      return Status::ok();
    }
    const auto& members = found.communicator->worldRanks();
    const auto member = std::find(members.begin(), members.end(), worldRank);
    if (member == members.end()) {
      return argumentError(HCCL_E_PARA, kOp, std::to_string(worldRank), "worldRank",
                           "a member of the group");
    }
    *groupRank = static_cast<uint32_t>(member - members.begin());
    return Status::ok();
  });
}

}  // namespace hccl::api
