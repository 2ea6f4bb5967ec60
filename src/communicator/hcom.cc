#include "src/communicator/hcom.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "src/communicator/initialize.h"
#include "src/communicator/registry.h"
#include "src/communicator/world.h"
#include "src/fault/ei_errors.h"
#include "src/runtime/engine.h"

namespace hccl::hcom {
namespace {

Result<Group> world(const char* op) {
  Group group;
  group.handle = worldHandle(runtime::currentDevice());
  group.communicator = Registry::instance().find(group.handle);
  if (group.communicator == nullptr) {
    return argumentError(HCCL_E_UNAVAIL, op, "none", std::string(kWorldGroup),
                         "a world of HcomInitByRankTable or HcclCommInitClusterInfo");
  }
  return group;
}

Status checkName(const char* op, const char* name) {
  const size_t length = ::strnlen(name, COMM_NAME_MAX_LENGTH);
  if (length != 0 && length < COMM_NAME_MAX_LENGTH) return Status::ok();
  return argumentError(HCCL_E_PARA, op, length == 0 ? "an empty text" : "a longer text", "group",
                       fmt::format("a name of 1 to {} characters", COMM_NAME_MAX_LENGTH - 1));
}

bool isWorldName(const char* name) {
  return name == nullptr || name == kWorldGroup;
}

}  // namespace

Result<Group> find(const char* op, const char* name) {
  HCCL_ASSIGN_OR_RETURN(Group group, world(op));
  if (isWorldName(name)) return group;
  HCCL_RETURN_IF_ERROR(checkName(op, name));
  group.handle = Registry::instance().findByName(name);
  group.communicator = Registry::instance().find(group.handle);
  if (group.communicator == nullptr) {
    return argumentError(HCCL_E_PARA, op, name, "group", "a group that exists");
  }
  return group;
}

Status create(const char* name, std::span<const uint32_t> ranks, const Environment& environment) {
  constexpr const char* kOp = "HcomCreateGroup";
  HCCL_ASSIGN_OR_RETURN(const Group parent, world(kOp));
  HCCL_RETURN_IF_ERROR(checkName(kOp, name));
  if (isWorldName(name)) {
    return argumentError(HCCL_E_PARA, kOp, name, "group", "a name other than the world's");
  }
  const auto own = std::find(ranks.begin(), ranks.end(), parent.communicator->rank());
  if (own == ranks.end()) {
    return argumentError(
        HCCL_E_PARA, kOp, "a list without this rank", "rankIds",
        fmt::format("members, the caller's rank {} among them", parent.communicator->rank()));
  }
  HCCL_ASSIGN_OR_RETURN(LoadedConfig config, loadConfig(nullptr, environment, kOp));
  config.settings = parent.communicator->settings();
  config.settings.name = name;
  return createSubCommunicator(*parent.communicator, ranks, crc32(name),
                               static_cast<uint32_t>(own - ranks.begin()), config)
      .status();
}

Status destroy(const char* name) {
  constexpr const char* kOp = "HcomDestroyGroup";
  HCCL_ASSIGN_OR_RETURN(const Group group, find(kOp, name));
  if (!group.communicator->isSubComm()) {
    return argumentError(HCCL_E_PARA, kOp, name == nullptr ? "nullptr" : name, "group",
                         "a group of HcomCreateGroup");
  }
  return destroyCommunicator(group.handle);
}

Status destroyWorld() {
  HCCL_ASSIGN_OR_RETURN(const Group all, world("HcomDestroy"));
  const std::string name = all.communicator->name();
  const int32_t device = all.communicator->device();
  for (const auto& member : Registry::instance().all()) {
    if (!member->isSubComm() || member->parent() != name || member->device() != device) continue;
    const HcclComm handle = Registry::instance().findByName(member->name());
    if (Registry::instance().find(handle) != member) continue;
    HCCL_RETURN_IF_ERROR(destroyCommunicator(handle));
  }
  return destroyCommunicator(all.handle);
}

}  // namespace hccl::hcom
