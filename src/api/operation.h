// The last step of a validated operation: the Entry line of the run log, then the communicator or
// the open group.
#pragma once

#include "src/api/check.h"
#include "src/api/entry.h"
#include "src/base/log.h"
#include "src/communicator/communicator.h"
#include "src/communicator/group.h"
#include "src/executor/mismatch.h"

namespace hccl::api {

inline Status run(const Target& target, const CollectiveCall& call) {
  if (group::isOpen()) return group::addCollective(target.comm, call, target.handle);
  return target.comm->collective(call, target.stream);
}

inline const char* nameOf(HcclDataType type) {
  return executor::dataTypeName(static_cast<uint8_t>(type));
}
inline const char* nameOf(HcclReduceOp op) {
  return executor::reduceOpName(static_cast<uint8_t>(op));
}

// "Entry-<op>:tag[<tag>_<communicator>], <arguments>, streamId[..], deviceLogicId[..]"
template <typename... Args>
void logEntry(const char* op, const char* tag, const Target& target,
              fmt::format_string<Args...> format, Args&&... args) {
  if (!env().entryLogEnabled) [[likely]]
    return;
  HCCL_RUN_INFO("Entry-{}:tag[{}_{}], {}, streamId[{}], deviceLogicId[{}]", op, tag,
                target.comm->name(), fmt::format(format, std::forward<Args>(args)...),
                runtime::streamId(target.stream), target.comm->device());
}

}  // namespace hccl::api
