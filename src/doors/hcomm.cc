// Made by src/doors/generate.py out of the public headers: do not edit.
// libhcomm: communicator management.
#include "src/doors/door.h"
#include "src/api/api.h"

extern "C" {

HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
  HCCL_DOOR(hccl::api::HcclGetRootInfo(rootInfo))
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
    HcclComm* comm) {
  HCCL_DOOR(hccl::api::HcclCommInitRootInfo(nRanks, rootInfo, rank, comm))
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
    const HcclCommConfig* config, HcclComm* comm) {
  HCCL_DOOR(hccl::api::HcclCommInitRootInfoConfig(nRanks, rootInfo, rank, config, comm))
}

HcclResult HcclGetRootInfoScalable(HcclRootInfo* rootInfo) {
  HCCL_DOOR(hccl::api::HcclGetRootInfoScalable(rootInfo))
}

HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot,
    const HcclRootInfo* rootInfoList, uint32_t rank, uint32_t nExtRoot,
    const HcclCommConfig* config, HcclComm* comm) {
  HCCL_DOOR(hccl::api::HcclCommInitRootInfoScalable(nRanks, nRoot, rootInfoList, rank, nExtRoot,
      config, comm))
}

HcclResult HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank, HcclComm* comm) {
  HCCL_DOOR(hccl::api::HcclCommInitClusterInfo(clusterInfo, rank, comm))
}

HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank,
    HcclCommConfig* config, HcclComm* comm) {
  HCCL_DOOR(hccl::api::HcclCommInitClusterInfoConfig(clusterInfo, rank, config, comm))
}

HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds,
    uint64_t subCommId, uint32_t subCommRankId, HcclCommConfig* config, HcclComm* subComm) {
  HCCL_DOOR(hccl::api::HcclCreateSubCommConfig(comm, rankNum, rankIds, subCommId, subCommRankId,
      config, subComm))
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
  HCCL_DOOR(hccl::api::HcclCommInitAll(ndev, devices, comms))
}

HcclResult HcclCommDestroy(HcclComm comm) {
  HCCL_DOOR(hccl::api::HcclCommDestroy(comm))
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
  HCCL_DOOR(hccl::api::HcclGetRankSize(comm, rankSize))
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  HCCL_DOOR(hccl::api::HcclGetRankId(comm, rank))
}

HcclResult HcclGetCommName(HcclComm comm, char* commName) {
  HCCL_DOOR(hccl::api::HcclGetCommName(comm, commName))
}

HcclResult HcclCommGetHandleWithName(const char* commName, HcclComm* comm) {
  HCCL_DOOR(hccl::api::HcclCommGetHandleWithName(commName, comm))
}

HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
  HCCL_DOOR(hccl::api::HcclGetCommAsyncError(comm, asyncError))
}

const char* HcclGetErrorString(HcclResult code) {
  return hccl::api::HcclGetErrorString(code);
}

uint32_t HcclGetCommConfigCapability() {
  return hccl::api::HcclGetCommConfigCapability();
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  HCCL_DOOR(hccl::api::HcclBarrier(comm, stream))
}

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  HCCL_DOOR(hccl::api::HcclSetConfig(config, configValue))
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* configValue) {
  HCCL_DOOR(hccl::api::HcclGetConfig(config, configValue))
}

HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType, uint32_t infoLen, void* info) {
  HCCL_DOOR(hccl::api::HcclConfigGetInfo(comm, cfgType, infoLen, info))
}

HcclResult HcclCommSuspend(HcclComm comm) {
  HCCL_DOOR(hccl::api::HcclCommSuspend(comm))
}

HcclResult HcclCommResume(HcclComm comm) {
  HCCL_DOOR(hccl::api::HcclCommResume(comm))
}

HcclResult HcclCommGetStatus(const char* commId, HcclCommStatus* status) {
  HCCL_DOOR(hccl::api::HcclCommGetStatus(commId, status))
}

HcclResult HcclCommRegCommStateCallback(const char* regName, HcclCommStateCallback cb, void* args) {
  HCCL_DOOR(hccl::api::HcclCommRegCommStateCallback(regName, cb, args))
}

HcclResult HcclCommSetMemoryRange(HcclComm comm, void* baseVirPtr, size_t size, size_t alignment,
    uint64_t flags) {
  HCCL_DOOR(hccl::api::HcclCommSetMemoryRange(comm, baseVirPtr, size, alignment, flags))
}

HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void* baseVirPtr) {
  HCCL_DOOR(hccl::api::HcclCommUnsetMemoryRange(comm, baseVirPtr))
}

HcclResult HcclCommActivateCommMemory(HcclComm comm, void* virPtr, size_t size, size_t offset,
    aclrtDrvMemHandle handle, uint64_t flags) {
  HCCL_DOOR(hccl::api::HcclCommActivateCommMemory(comm, virPtr, size, offset, handle, flags))
}

HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void* virPtr) {
  HCCL_DOOR(hccl::api::HcclCommDeactivateCommMemory(comm, virPtr))
}

HcclResult HcclCommSymWinRegister(HcclComm comm, void* addr, uint64_t size,
    HcclCommSymWindow* winHandle, uint32_t flag) {
  HCCL_DOOR(hccl::api::HcclCommSymWinRegister(comm, addr, size, winHandle, flag))
}

HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle) {
  HCCL_DOOR(hccl::api::HcclCommSymWinDeregister(winHandle))
}

HcclResult HcclCommSymWinGet(HcclComm comm, void* ptr, size_t size, HcclCommSymWindow* winHandle,
    size_t* offset) {
  HCCL_DOOR(hccl::api::HcclCommSymWinGet(comm, ptr, size, winHandle, offset))
}

HcclResult HcclCommRegister(HcclComm comm, void* addr, uint64_t size, void** handle,
    uint32_t flag) {
  HCCL_DOOR(hccl::api::HcclCommRegister(comm, addr, size, handle, flag))
}

HcclResult HcclCommDeregister(HcclComm comm, void* handle) {
  HCCL_DOOR(hccl::api::HcclCommDeregister(comm, handle))
}

HcclResult HcclCommExchangeMem(HcclComm comm, void* windowHandle, uint32_t* peerRanks,
    uint32_t peerRankNum) {
  HCCL_DOOR(hccl::api::HcclCommExchangeMem(comm, windowHandle, peerRanks, peerRankNum))
}

HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t* ranks, bool* useBackup,
    uint32_t nRanks) {
  HCCL_DOOR(hccl::api::HcclCommWorkingDevNicSet(comm, ranks, useBackup, nRanks))
}

HcclResult HcclGroupStart() {
  HCCL_DOOR(hccl::api::HcclGroupStart())
}

HcclResult HcclGroupEnd() {
  HCCL_DOOR(hccl::api::HcclGroupEnd())
}

HcclResult HcclGroupStatusGet(bool* isGroupEnabled) {
  HCCL_DOOR(hccl::api::HcclGroupStatusGet(isGroupEnabled))
}

HcclResult HcomInitByRankTable(const char* rankTable, uint32_t rankId) {
  HCCL_DOOR(hccl::api::HcomInitByRankTable(rankTable, rankId))
}

HcclResult HcomDestroy() {
  HCCL_DOOR(hccl::api::HcomDestroy())
}

HcclResult HcomCreateGroup(const char* group, uint32_t rankNum, uint32_t* rankIds) {
  HCCL_DOOR(hccl::api::HcomCreateGroup(group, rankNum, rankIds))
}

HcclResult HcomDestroyGroup(const char* group) {
  HCCL_DOOR(hccl::api::HcomDestroyGroup(group))
}

HcclResult HcomGetCommHandleByGroup(const char* group, HcclComm* commHandle) {
  HCCL_DOOR(hccl::api::HcomGetCommHandleByGroup(group, commHandle))
}

HcclResult HcomGetRankSize(const char* group, uint32_t* rankSize) {
  HCCL_DOOR(hccl::api::HcomGetRankSize(group, rankSize))
}

HcclResult HcomGetRankId(const char* group, uint32_t* rankId) {
  HCCL_DOOR(hccl::api::HcomGetRankId(group, rankId))
}

HcclResult HcomGetLocalRankSize(const char* group, uint32_t* localRankSize) {
  HCCL_DOOR(hccl::api::HcomGetLocalRankSize(group, localRankSize))
}

HcclResult HcomGetLocalRankId(const char* group, uint32_t* localRankId) {
  HCCL_DOOR(hccl::api::HcomGetLocalRankId(group, localRankId))
}

HcclResult HcomGetWorldRankFromGroupRank(const char* group, uint32_t groupRank,
    uint32_t* worldRank) {
  HCCL_DOOR(hccl::api::HcomGetWorldRankFromGroupRank(group, groupRank, worldRank))
}

HcclResult HcomGetGroupRankFromWorldRank(uint32_t worldRank, const char* group,
    uint32_t* groupRank) {
  HCCL_DOOR(hccl::api::HcomGetGroupRankFromWorldRank(worldRank, group, groupRank))
}

HcclResult HcclRankGraphGetLayers(HcclComm comm, uint32_t** netLayers, uint32_t* netLayerNum) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetLayers(comm, netLayers, netLayerNum))
}

HcclResult HcclRankGraphGetRanksByLayer(HcclComm comm, uint32_t netLayer, uint32_t** ranks,
    uint32_t* rankNum) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetRanksByLayer(comm, netLayer, ranks, rankNum))
}

HcclResult HcclRankGraphGetRankSizeByLayer(HcclComm comm, uint32_t netLayer, uint32_t* rankNum) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetRankSizeByLayer(comm, netLayer, rankNum))
}

HcclResult HcclRankGraphGetTopoTypeByLayer(HcclComm comm, uint32_t netLayer, CommTopo* topoType) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetTopoTypeByLayer(comm, netLayer, topoType))
}

HcclResult HcclRankGraphGetInstSizeListByLayer(HcclComm comm, uint32_t netLayer,
    uint32_t** instSizeList, uint32_t* listSize) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetInstSizeListByLayer(comm, netLayer, instSizeList, listSize))
}

HcclResult HcclRankGraphGetLinks(HcclComm comm, uint32_t netLayer, uint32_t srcRank,
    uint32_t dstRank, CommLink** links, uint32_t* linkNum) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetLinks(comm, netLayer, srcRank, dstRank, links, linkNum))
}

HcclResult HcclRankGraphGetTopoInstsByLayer(HcclComm comm, uint32_t netLayer, uint32_t** topoInsts,
    uint32_t* topoInstNum) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetTopoInstsByLayer(comm, netLayer, topoInsts, topoInstNum))
}

HcclResult HcclRankGraphGetTopoType(HcclComm comm, uint32_t netLayer, uint32_t topoInstId,
    CommTopo* topoType) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetTopoType(comm, netLayer, topoInstId, topoType))
}

HcclResult HcclRankGraphGetRanksByTopoInst(HcclComm comm, uint32_t netLayer, uint32_t topoInstId,
    uint32_t** ranks, uint32_t* rankNum) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetRanksByTopoInst(comm, netLayer, topoInstId, ranks, rankNum))
}

HcclResult HcclGetHeterogMode(HcclComm comm, HcclHeterogMode* mode) {
  HCCL_DOOR(hccl::api::HcclGetHeterogMode(comm, mode))
}

HcclResult HcclRankGraphGetEndpointNum(HcclComm comm, uint32_t layer, uint32_t topoInstId,
    uint32_t* num) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetEndpointNum(comm, layer, topoInstId, num))
}

HcclResult HcclRankGraphGetEndpointDesc(HcclComm comm, uint32_t layer, uint32_t topoInstId,
    uint32_t* descNum, EndpointDesc* endpointDesc) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetEndpointDesc(comm, layer, topoInstId, descNum, endpointDesc))
}

HcclResult HcclRankGraphGetEndpointInfo(HcclComm comm, uint32_t rankId,
    const EndpointDesc* endpointDesc, EndpointAttr endpointAttr, uint32_t infoLen, void* info) {
  HCCL_DOOR(hccl::api::HcclRankGraphGetEndpointInfo(comm, rankId, endpointDesc, endpointAttr,
      infoLen, info))
}

HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle, size_t offset, uint32_t peerRank,
    void** ptr) {
  HCCL_DOOR(hccl::api::HcclSymWinGetPeerPointer(winHandle, offset, peerRank, ptr))
}

HcclResult HcclGetHcclBuffer(HcclComm comm, void** buffer, uint64_t* size) {
  HCCL_DOOR(hccl::api::HcclGetHcclBuffer(comm, buffer, size))
}

}  // extern "C"
