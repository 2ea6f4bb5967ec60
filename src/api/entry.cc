#include "src/api/entry.h"

#include <atomic>

#include "src/runtime/process_state.h"

namespace hccl::api {
namespace {

std::atomic<const Environment*> parsed{nullptr};

}  // namespace

Status enter() {
  if (!runtime::isUsable()) return runtime::usableStatus();
  if (parsed.load(std::memory_order_acquire) != nullptr) return Status::ok();
  HCCL_ASSIGN_OR_RETURN(const Environment* const environment, hccl::environment());
  parsed.store(environment, std::memory_order_release);
  return Status::ok();
}

const Environment& env() {
  return *parsed.load(std::memory_order_acquire);
}

HcclResult fail(const Status& status, const Where& where) {
  reportError(status, {}, where.file, where.line);
  return status.code();
}

HcclResult failMemory(const Where& where) {
  try {
    return fail(Status(HCCL_E_MEMORY, "out of host memory"), where);
  } catch (...) {
    return HCCL_E_MEMORY;
  }
}

HcclResult failInternal(const char* what, const Where& where) {
  try {
    return fail(Status(HCCL_E_INTERNAL, what), where);
  } catch (...) {
    return HCCL_E_INTERNAL;
  }
}

}  // namespace hccl::api
