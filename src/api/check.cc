#include "src/api/check.h"

#include <fmt/core.h>

#include "src/communicator/registry.h"
#include "src/executor/mismatch.h"
#include "src/fault/ei_errors.h"
#include "src/reduce/reduce.h"
#include "src/runtime/engine.h"

namespace hccl::api {
namespace {

constexpr uint32_t bit(HcclDataType type) {
  return 1U << type;
}

// Types that operations move.
constexpr uint32_t kMovable =
    bit(HCCL_DATA_TYPE_INT8) | bit(HCCL_DATA_TYPE_INT16) | bit(HCCL_DATA_TYPE_INT32) |
    bit(HCCL_DATA_TYPE_INT64) | bit(HCCL_DATA_TYPE_UINT8) | bit(HCCL_DATA_TYPE_UINT16) |
    bit(HCCL_DATA_TYPE_UINT32) | bit(HCCL_DATA_TYPE_UINT64) | bit(HCCL_DATA_TYPE_FP16) |
    bit(HCCL_DATA_TYPE_FP32) | bit(HCCL_DATA_TYPE_FP64) | bit(HCCL_DATA_TYPE_BFP16) |
    bit(HCCL_DATA_TYPE_HIF8) | bit(HCCL_DATA_TYPE_FP8E4M3) | bit(HCCL_DATA_TYPE_FP8E5M2) |
    bit(HCCL_DATA_TYPE_FP8E8M0);

// Values come from C and may be anything.
uint64_t number(HcclDataType type) {
  return static_cast<uint32_t>(type);
}
uint64_t number(HcclReduceOp op) {
  return static_cast<uint32_t>(op);
}

std::string typeName(uint64_t type) {
  const char* name = type <= 255 ? executor::dataTypeName(static_cast<uint8_t>(type)) : "unknown";
  return std::string_view(name) == "unknown" ? std::to_string(type) : name;
}

Status unknownHandle(const char* op, const char* parameter, const char* what) {
  return argumentError(HCCL_E_PARA, op, "an unknown handle", parameter, what);
}

}  // namespace

Status checkPointers(const char* op, std::initializer_list<NamedPointer> pointers) {
  for (const NamedPointer& entry : pointers) {
    if (entry.pointer == nullptr) return nullPointerError(op, entry.name);
  }
  return Status::ok();
}

Status findCommunicator(const char* op, HcclComm handle, std::shared_ptr<Communicator>* out) {
  *out = Registry::instance().find(handle);
  if (*out != nullptr) return Status::ok();
  return unknownHandle(op, "comm", "a communicator that exists");
}

Status findTarget(const char* op, HcclComm comm, void* stream, Target* out) {
  HCCL_RETURN_IF_ERROR(findCommunicator(op, comm, &out->comm));
  out->handle = stream;
  out->stream = runtime::findStream(stream);
  if (out->stream != nullptr) return Status::ok();
  return unknownHandle(op, "stream", "a stream that exists");
}

Status checkCount(const char* op, uint64_t count, const char* name) {
  if (count <= kMaxCount) return Status::ok();
  return argumentError(HCCL_E_PARA, op, std::to_string(count), name,
                       fmt::format("less than or equal to {}", kMaxCount));
}

Status checkRank(const char* op, uint32_t rank, uint32_t size, const char* name) {
  if (rank < size) return Status::ok();
  return argumentError(HCCL_E_PARA, op, std::to_string(rank), name,
                       fmt::format("less than the communicator's size {}", size));
}

Status checkType(HcclDataType type) {
  const uint64_t n = number(type);
  if (n < 32 && (kMovable >> n & 1) != 0) return Status::ok();
  return argumentError(HCCL_E_NOT_SUPPORT, "CheckDataType", typeName(n), "dataType",
                       "int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, "
                       "float32, float64, bfloat16, hif8, fp8e4m3, fp8e5m2, fp8e8m0");
}

Status checkReduction(HcclDataType type, HcclReduceOp op) {
  const bool isOp = number(op) <= HCCL_REDUCE_MIN;
  const bool isType = number(type) <= HCCL_DATA_TYPE_BFP16;
  if (isOp && isType && reduce::supported(type, op)) return Status::ok();
  constexpr const char* kCheck = "CheckReduceDataType";
  if (!isOp) {
    return argumentError(HCCL_E_NOT_SUPPORT, kCheck, std::to_string(number(op)), "op",
                         "sum, prod, max, min");
  }
  return argumentError(HCCL_E_NOT_SUPPORT, kCheck, typeName(number(type)), "dataType",
                       op == HCCL_REDUCE_PROD
                           ? "int8, int32, int64, uint64, float16, float32, float64 (op prod)"
                           : "int8, int16, int32, int64, uint64, float16, float32, float64, "
                             "bfloat16");
}

Status currentDevice(const char* op, int32_t* device) {
  bool set = false;
  *device = runtime::currentDevice(&set);
  if (set) return Status::ok();
  return argumentError(HCCL_E_RUNTIME, op, "none", "current device",
                       "a device that this thread has set with aclrtSetDevice");
}

}  // namespace hccl::api
