// Streams, host functions and callbacks of the public interface.
#include "src/runtime/acl_api.h"
#include "src/runtime/acl_support.h"
#include "src/runtime/context.h"
#include "src/runtime/engine.h"
#include "src/runtime/failure_hook.h"
#include "src/runtime/host_task.h"
#include "src/runtime/stream.h"

namespace hccl::acl {

using runtime::Stream;

aclError synchronizeStream(Stream* stream, Deadline deadline) {
  if (stream->hostThread().isCurrent()) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "a host function must not wait for its own stream");
  }
  if (!runtime::waitForStream(stream, deadline)) return note(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  runtime::Cut cut = runtime::Cut::kNone;
  const Status status = stream->takeError(&cut);
  switch (cut) {
    case runtime::Cut::kDeviceAbort:
      return fail(ACL_ERROR_RT_DEVICE_TASK_ABORT, status);
    case runtime::Cut::kDestroyed:
      return fail(ACL_ERROR_RT_STREAM_ABORT, status);
    case runtime::Cut::kNone:
      break;
  }
  return fail(runtime::taskError(status), status);
}

aclError streamError(const Status& status) {
  return fail(status.code() == HCCL_E_NOT_FOUND ? ACL_ERROR_RT_CONTEXT_NULL : callError(status),
              status);
}

aclError aclrtCreateStream(aclrtStream* stream) {
  return aclrtCreateStreamWithConfig(stream, 0, 0);
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(stream);
  bool set = false;
  const int32_t device = runtime::currentDevice(&set);
  if (!set) {
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "the thread has no current device: call aclrtSetDevice");
  }
  auto made = runtime::createStream(device, priority, flag);
  if (!made.isOk()) return fail(callError(made.status()), made.status());
  *stream = *made;
  return ACL_SUCCESS;
}

aclError aclrtDestroyStream(aclrtStream stream) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(stream);
  const Status status = runtime::destroyStream(stream, false);
  return fail(callError(status), status);
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(stream);
  const Status status = runtime::destroyStream(stream, true);
  return fail(callError(status), status);
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return aclrtSynchronizeStreamWithTimeout(stream, -1);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  ACL_ENTER();
  if (timeout < -1) return fail(ACL_ERROR_INVALID_PARAM, "the time-out must be -1 or more");
  auto found = runtime::streamOf(stream);
  if (!found.isOk()) return streamError(found.status());
  return synchronizeStream(*found, deadlineOf(timeout));
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(status);
  auto found = runtime::streamOf(stream);
  if (!found.isOk()) return streamError(found.status());
  if (!(*found)->isIdle()) (*found)->advance(8);  // a program that polls makes progress
  *status = (*found)->isIdle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(streamId);
  auto found = runtime::streamOf(stream);
  if (!found.isOk()) return streamError(found.status());
  *streamId = (*found)->id();
  return ACL_SUCCESS;
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  ACL_ENTER();
  if (mode != ACL_CONTINUE_ON_FAILURE && mode != ACL_STOP_ON_FAILURE) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetStreamFailureMode: the mode must be 0 or 1");
  }
  auto found = runtime::streamOf(stream);
  if (!found.isOk()) return streamError(found.status());
  (*found)->failureMode.store(mode);
  return ACL_SUCCESS;
}

// ---- host functions and callbacks ----

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc func, void* args) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(func);
  auto found = runtime::streamOf(stream);
  if (!found.isOk()) return streamError(found.status());
  const Status status = runtime::enqueueHostCall(*found, func, args, true, false);
  return fail(callError(status), status);
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(fn);
  if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtLaunchCallback: unknown block type");
  }
  auto found = runtime::streamOf(stream);
  if (!found.isOk()) return streamError(found.status());
  const Status status =
      runtime::enqueueHostCall(*found, fn, userData, blockType == ACL_CALLBACK_BLOCK, true);
  return fail(callError(status), status);
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  ACL_ENTER();
  if (threadId == 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtSubscribeReport: no thread 0");
  auto found = runtime::streamOf(stream);
  if (!found.isOk()) return streamError(found.status());
  const Status status = runtime::subscribe(threadId, *found);
  return fail(status.isOk() ? ACL_SUCCESS : ACL_ERROR_RT_STREAM_SUBSCRIBE, status);
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  ACL_ENTER();
  auto found = runtime::streamOf(stream);
  if (!found.isOk()) return streamError(found.status());
  const Status status = runtime::unsubscribe(threadId, *found);
  return fail(status.code() == HCCL_E_NOT_FOUND ? ACL_ERROR_RT_THREAD_SUBSCRIBE : callError(status),
              status);
}

aclError aclrtProcessReport(int32_t timeout) {
  ACL_ENTER();
  if (timeout < -1) return fail(ACL_ERROR_INVALID_PARAM, "the time-out must be -1 or more");
  const Status status = runtime::processReport(deadlineOf(timeout));
  if (status.code() == HCCL_E_TIMEOUT) return note(ACL_ERROR_RT_REPORT_TIMEOUT);
  return fail(status.isOk() ? ACL_SUCCESS : ACL_ERROR_RT_THREAD_SUBSCRIBE, status);
}

}  // namespace hccl::acl
