#include "src/communicator/initialize.h"

#include <fmt/core.h>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/bootstrap/digest.h"
#include "src/bootstrap/rendezvous.h"
#include "src/bootstrap/root_info.h"
#include "src/communicator/opening.h"
#include "src/communicator/registry.h"
#include "src/fault/ei_errors.h"
#include "src/runtime/devices.h"
#include "src/runtime/thread.h"

namespace hccl {
namespace {

using bootstrap::Digest;

constexpr const char* kRootOp = "HcclCommInitRootInfo";

Result<RootHandle> decode(const HcclRootInfo& info) {
  Result<RootHandle> handle = decodeRootInfo(info);
  if (handle.isOk() || handle.status().eiCode() != 0) return handle;
  return argumentError(handle.status().code(), kRootOp, handle.status().text(), "rootInfo",
                       "the bytes that HcclGetRootInfo wrote");
}

std::string textOf(const Digest& digest) {
  return std::string(bootstrap::view(digest));
}

}  // namespace

Result<HcclComm> openAndRegister(CommunicatorParams params, const LoadedConfig& config,
                                 const char* op) {
  if (params.name.size() >= COMM_NAME_MAX_LENGTH) {
    return argumentError(HCCL_E_PARA, op, params.name, "communicator name",
                         fmt::format("at most {} characters", COMM_NAME_MAX_LENGTH - 1));
  }
  logLoadedConfig(config, params.name);
  HCCL_ASSIGN_OR_RETURN(std::shared_ptr<Communicator> communicator,
                        Communicator::create(std::move(params)));
  HCCL_ASSIGN_OR_RETURN(const HcclComm handle, Registry::instance().add(communicator));
  logKeyInfo(*communicator);
  return handle;
}

Status checkNameFree(const std::string& name, uint32_t rank, const char* op) {
  if (name.empty() || !Registry::instance().nameTaken(name, rank)) return Status::ok();
  return argumentError(HCCL_E_PARA, op, name, "hcclCommName",
                       "a name that no communicator of this process has");
}

Result<HcclRootInfo> makeRootInfo(int32_t device) {
  const uint64_t begin = monotonicNs();
  RootOptions options;
  options.deviceId = static_cast<uint32_t>(device);
  HCCL_ASSIGN_OR_RETURN(const HcclRootInfo info, startRoot(options));
  HCCL_ASSIGN_OR_RETURN(const RootHandle handle, decodeRootInfo(info));
  HCCL_RUN_INFO("[HCCL_TRACE]HcclGetRootInfo success, take time [{}]us, identifier[{}]",
                (monotonicNs() - begin) / 1000, handle.identifier);
  return info;
}

Result<HcclComm> joinByRoots(std::span<const HcclRootInfo> roots, uint32_t nRanks, uint32_t rank,
                             int32_t device, const LoadedConfig& config,
                             const Environment& environment) {
  const uint64_t begin = monotonicNs();
  std::vector<RootHandle> handles;
  for (const HcclRootInfo& info : roots) {
    HCCL_ASSIGN_OR_RETURN(RootHandle handle, decode(info));
    handles.push_back(std::move(handle));
  }
  const RootHandle& first = handles.front();
  HCCL_RUN_INFO(
      "Entry-HcclCommInitRootInfoInner:ranks[{}], rank[{}], rootinfo: {}, "
      "deviceLogicId[{}]",
      nRanks, rank, first.toString(), device);
  CommunicatorParams params;
  params.name = config.settings.name.empty() ? first.identifier : config.settings.name;
  HCCL_RETURN_IF_ERROR(checkNameFree(params.name, rank, kRootOp));
  HCCL_ASSIGN_OR_RETURN(RankInfo mine,
                        describeSelf(rank, static_cast<uint32_t>(device), environment));
  HCCL_ASSIGN_OR_RETURN(mine.endpoint, transport::localEndpoint(device, mine.hostIp, 0));
  HCCL_RUN_INFO(
      "[HCCL_TRACE][Flat]SetupAgent rankNum[{}], rank[{}], rootInfo identifier[{}], "
      "server[{}], serverPort[{}], logicDevId[{}], phydevId[{}], deviceIp[{}]",
      nRanks, rank, first.identifier, first.address.ip.toString(), first.address.port, device,
      device, mine.hostIp);
  JoinOptions options;
  options.group = params.name;
  options.environment = &environment;
  HCCL_ASSIGN_OR_RETURN(params.cluster,
                        joinRoots(handles, nRanks, rank, mine, agreedFacts(config.settings),
                                  Deadline::after(environment.connectTimeoutSec), options));
  params.rank = rank;
  params.device = device;
  params.settings = config.settings;
  params.secret = textOf(bootstrap::hmac(first.secret, {"communicator ", params.name}));
  HCCL_ASSIGN_OR_RETURN(const HcclComm handle, openAndRegister(std::move(params), config, kRootOp));
  HCCL_RUN_INFO(
      "[HCCL_TRACE]HcclCommInitRootInfoInner success, take time [{}]us, rankNum[{}], "
      "rank[{}]",
      (monotonicNs() - begin) / 1000, nRanks, rank);
  return handle;
}

Result<HcclComm> createSubCommunicator(const Communicator& parent, std::span<const uint32_t> ranks,
                                       uint64_t id, uint32_t subRank, const LoadedConfig& config) {
  constexpr const char* kOp = "HcclCreateSubCommConfig";
  if (parent.isSubComm()) {
    return argumentError(HCCL_E_PARA, kOp, parent.name(), "comm",
                         "a communicator that is not itself a sub-communicator");
  }
  CommunicatorParams params;
  Result<Cluster> subset = parent.cluster().subset(ranks);
  if (!subset.isOk()) {
    return argumentError(HCCL_E_PARA, kOp, subset.status().text(), "rankIds",
                         fmt::format("different ranks below {}", parent.size()));
  }
  if (ranks[subRank] != parent.rank()) {
    return argumentError(HCCL_E_PARA, kOp, std::to_string(ranks[subRank]), "rankIds[subCommRankId]",
                         fmt::format("the caller's rank {}", parent.rank()));
  }
  params.cluster = std::move(*subset);
  params.name = config.settings.name.empty() ? fmt::format("{}_sub_{}", parent.name(), id)
                                             : config.settings.name;
  HCCL_RETURN_IF_ERROR(checkNameFree(params.name, subRank, kOp));
  params.rank = subRank;
  params.device = parent.device();
  params.settings = config.settings;
  params.isSubComm = true;
  params.parent = parent.name();
  params.worldRanks.assign(ranks.begin(), ranks.end());
  // Ranks that were given different lists never meet.
  std::string members;
  for (const uint32_t rank : ranks) members += fmt::format(",{}", rank);
  params.secret = textOf(bootstrap::hmac(bootstrap::sha256(parent.secret()),
                                         {"sub ", params.name, "/", std::to_string(id), members}));
  return openAndRegister(std::move(params), config, kOp);
}

Result<std::vector<HcclComm>> joinAll(std::span<const int32_t> devices,
                                      const Environment& environment) {
  HCCL_ASSIGN_OR_RETURN(const HcclRootInfo root, makeRootInfo(devices.front()));
  HCCL_ASSIGN_OR_RETURN(const LoadedConfig config,
                        loadConfig(nullptr, environment, "HcclCommInitAll"));
  std::vector<JoinRequest> requests;
  for (uint32_t i = 0; i < devices.size(); ++i) {
    requests.push_back({{root}, static_cast<uint32_t>(devices.size()), i, devices[i], config, {}});
  }
  const Status status = joinTogether(requests, environment);
  std::vector<HcclComm> handles;
  handles.reserve(requests.size());
  for (const JoinRequest& request : requests) handles.push_back(request.handle);
  if (status.isOk()) return handles;
  for (const HcclComm handle : handles) {
    if (handle != nullptr) (void)destroyCommunicator(handle);
  }
  return status;
}

Status joinTogether(std::vector<JoinRequest>& requests, const Environment& environment) {
  std::vector<runtime::Thread> threads;
  std::vector<Status> results(requests.size());
  Status first;
  for (size_t i = 0; i < requests.size(); ++i) {
    auto thread = runtime::Thread::start("HcclInit", [&, i] {
      JoinRequest& request = requests[i];
      runtime::setCurrentDevice(request.device);
      Result<HcclComm> joined = joinByRoots(request.roots, request.nRanks, request.rank,
                                            request.device, request.config, environment);
      if (joined.isOk()) request.handle = *joined;
      results[i] = joined.status();
    });
    if (!thread.isOk()) {
      first = thread.status();
      break;
    }
    threads.push_back(std::move(*thread));
  }
  for (runtime::Thread& thread : threads) thread.join();
  for (const Status& result : results) {
    if (first.isOk()) first = result;
  }
  return first;
}

}  // namespace hccl
