// FailureHook: tells the program's exception callback (aclrtSetExceptionInfoCallback) about a
// failed task, on the stream's host thread.
#pragma once

#include <cstdint>

#include "acl/acl_rt.h"
#include "src/base/status.h"

struct rtExceptionInfo {
  uint32_t taskId;
  uint32_t streamId;
  uint32_t threadId;
  uint32_t deviceId;
  uint32_t errorCode;  // aclError
};

namespace hccl::runtime {

class Stream;

void setFailureCallback(aclrtExceptionInfoCallback callback);

// `task` counts the stream's tasks. Does nothing when no callback is set.
void reportTaskFailure(Stream* stream, uint64_t task, const Status& status);

// The aclError of a failed task.
aclError taskError(const Status& status);

}  // namespace hccl::runtime
