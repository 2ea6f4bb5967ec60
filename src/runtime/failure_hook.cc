#include "src/runtime/failure_hook.h"

#include <unistd.h>

#include <atomic>

#include "src/runtime/stream_impl.h"

namespace hccl::runtime {
namespace {

std::atomic<aclrtExceptionInfoCallback> failureCallback{nullptr};

struct Report {
  aclrtExceptionInfoCallback callback;
  rtExceptionInfo info;
};

void deliver(void* argument) {
  auto* report = static_cast<Report*>(argument);
  report->info.threadId = static_cast<uint32_t>(::gettid());
  report->callback(&report->info);
  delete report;
}

}  // namespace

void setFailureCallback(aclrtExceptionInfoCallback callback) {
  failureCallback.store(callback);
}

void reportTaskFailure(Stream* stream, uint64_t task, const Status& status) {
  const aclrtExceptionInfoCallback callback = failureCallback.load(std::memory_order_relaxed);
  if (callback == nullptr) return;
  auto* report = new Report{
      callback,
      {static_cast<uint32_t>(task), static_cast<uint32_t>(stream->id()), 0,
       static_cast<uint32_t>(stream->device()), static_cast<uint32_t>(taskError(status))}};
  auto* call = new HostCall;
  call->function = deliver;
  call->argument = report;
  if (!stream->hostThread().submit(call, stream->index()).isOk()) {
    delete report;
    call->release();
  }
}

aclError taskError(const Status& status) {
  switch (status.code()) {
    case HCCL_SUCCESS:
      return ACL_SUCCESS;
    case HCCL_E_TIMEOUT:
      return ACL_ERROR_RT_TASK_TIMEOUT;
    case HCCL_E_REMOTE:
      return ACL_ERROR_RT_SUSPECT_REMOTE_ERROR;
    case HCCL_E_TCP_CONNECT:
    case HCCL_E_ROCE_CONNECT:
    case HCCL_E_TCP_TRANSFER:
    case HCCL_E_ROCE_TRANSFER:
    case HCCL_E_NETWORK:
      return ACL_ERROR_RT_LINK_ERROR;
    case HCCL_E_OPRETRY_FAIL:
      return ACL_ERROR_RT_COMM_OP_RETRY_FAIL;
    case HCCL_E_OOM:
      return ACL_ERROR_RT_MEMORY_ALLOCATION;
    case HCCL_E_PARA:
    case HCCL_E_PTR:
      return ACL_ERROR_RT_PARAM_INVALID;
    case HCCL_E_SUSPENDING:
      return ACL_ERROR_RT_DEVICE_TASK_ABORT;
    default:
      return ACL_ERROR_RT_INTERNAL_ERROR;
  }
}

}  // namespace hccl::runtime
