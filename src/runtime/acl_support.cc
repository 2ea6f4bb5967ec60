#include "src/runtime/acl_support.h"

#include "src/fault/ei_errors.h"
#include "src/runtime/acl_api.h"
#include "src/runtime/engine.h"
#include "src/runtime/failure_hook.h"
#include "src/runtime/process_state.h"

namespace hccl::acl {
namespace {

thread_local aclError threadLastError = ACL_SUCCESS;

}  // namespace

aclError note(aclError code) {
  threadLastError = code;
  return code;
}

aclError fail(aclError code, const Status& status) {
  if (code == ACL_SUCCESS) return code;
  // The log and the allocator of a forked child may be locked for ever.
  if (!runtime::isForkedChild()) reportError(status);
  return note(code);
}

aclError fail(aclError code, const std::string& text) {
  return fail(code, Status(HCCL_E_PARA, text));
}

aclError lastError(bool forget) {
  const aclError code = threadLastError;
  if (forget) threadLastError = ACL_SUCCESS;
  return code;
}

aclError nullArgument(const char* function, const char* name) {
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": " + name + " must not be NULL");
}

aclError checkUsable() {
  if (runtime::isUsable()) return ACL_SUCCESS;
  return note(ACL_ERROR_RT_INTERNAL_ERROR);
}

aclError callError(const Status& status) {
  switch (status.code()) {
    case HCCL_SUCCESS:
      return ACL_SUCCESS;
    case HCCL_E_OOM:
    case HCCL_E_MEMORY:
      return ACL_ERROR_RT_MEMORY_ALLOCATION;
    case HCCL_E_PARA:
    case HCCL_E_PTR:
      return ACL_ERROR_INVALID_PARAM;
    case HCCL_E_UNAVAIL:
      return runtime::isUsable() ? ACL_ERROR_RT_RESOURCE_ALLOC_FAIL : ACL_ERROR_RT_INTERNAL_ERROR;
    default:
      return ACL_ERROR_RT_INTERNAL_ERROR;
  }
}

Deadline deadlineOf(int32_t milliseconds) {
  return milliseconds < 0 ? Deadline::never() : Deadline::after(milliseconds * 1e-3);
}

// ---- errors of the public interface ----

const char* aclGetRecentErrMsg() {
  if (runtime::isForkedChild()) {
    return "The runtime cannot be used in a process that fork() made from one that uses it. "
           "Solution: call exec in the child, or start the child before the first runtime call.";
  }
  return recentErrorMessage();
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  if (level != ACL_RT_THREAD_LEVEL) return ACL_ERROR_INVALID_PARAM;
  return lastError(true);
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  if (level != ACL_RT_THREAD_LEVEL) return ACL_ERROR_INVALID_PARAM;
  return lastError(false);
}

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  ACL_ENTER();
  runtime::setFailureCallback(callback);
  return ACL_SUCCESS;
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? 0xFFFFFFFF : info->taskId;
}
uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? 0xFFFFFFFF : info->streamId;
}
uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? 0xFFFFFFFF : info->threadId;
}
uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? 0xFFFFFFFF : info->deviceId;
}
uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? 0xFFFFFFFF : info->errorCode;
}

}  // namespace hccl::acl
