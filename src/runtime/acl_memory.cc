// Memory of the public interface: allocation, copies, addresses and physical memory.
#include <cstring>

#include "src/runtime/acl_api.h"
#include "src/runtime/acl_support.h"
#include "src/runtime/context.h"
#include "src/runtime/copy_task.h"
#include "src/runtime/engine.h"
#include "src/runtime/memory_probe.h"
#include "src/runtime/user_memory.h"
#include "src/runtime/vmm.h"

namespace hccl::acl {
namespace {

aclError noDevice() {
  return fail(ACL_ERROR_RT_CONTEXT_NULL, "the thread has no current device: call aclrtSetDevice");
}

aclError allocate(void** address, size_t size, int32_t device, bool host) {
  auto memory = runtime::allocateUser(device, size, 4096, host);
  if (!memory.isOk()) return fail(callError(memory.status()), memory.status());
  *address = *memory;
  return ACL_SUCCESS;
}

aclError checkCopy(const char* function, const void* destination, size_t room, const void* source,
                   size_t count, int kind) {
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_DEFAULT) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": unknown kind of copy");
  }
  if (count > room) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": " + std::to_string(count) +
                                             " bytes do not fit into " + std::to_string(room));
  }
  if (destination == nullptr) return nullArgument(function, "the destination");
  if (source == nullptr) return nullArgument(function, "the source");
  return ACL_SUCCESS;
}

aclError vmmError(const Status& status) {
  // "Still in use" is an error of the caller here.
  return fail(status.code() == HCCL_E_AGAIN ? ACL_ERROR_INVALID_PARAM : callError(status), status);
}

}  // namespace

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(devPtr);
  if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMalloc: size must not be 0");
  if (policy < ACL_MEM_MALLOC_HUGE_FIRST || policy > ACL_MEM_MALLOC_HUGE1G_ONLY) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMalloc: unknown policy");
  }
  bool set = false;
  const int32_t device = runtime::currentDevice(&set);
  if (!set) return noDevice();
  return allocate(devPtr, size, device, false);
}

aclError aclrtFree(void* devPtr) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(devPtr);
  const Status status = runtime::freeUser(devPtr, false);
  return fail(callError(status), status);
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(hostPtr);
  if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocHost: size must not be 0");
  return allocate(hostPtr, size, runtime::currentDevice(), true);
}

aclError aclrtFreeHost(void* hostPtr) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(hostPtr);
  const Status status = runtime::freeUser(hostPtr, true);
  return fail(callError(status), status);
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
  ACL_ENTER();
  if (count == 0 && destMax == 0) return ACL_SUCCESS;
  if (const aclError code = checkCopy("aclrtMemcpy", dst, destMax, src, count, kind)) return code;
  std::memmove(dst, src, count);
  return ACL_SUCCESS;
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  ACL_ENTER();
  auto on = runtime::streamOf(stream);
  if (!on.isOk()) return streamError(on.status());
  if (count == 0 && destMax == 0) return ACL_SUCCESS;
  if (const aclError code = checkCopy("aclrtMemcpyAsync", dst, destMax, src, count, kind)) {
    return code;
  }
  if (count == 0) return ACL_SUCCESS;
  const Status status = runtime::enqueueCopy(*on, dst, src, count);
  return fail(callError(status), status);
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(devPtr);
  if (count > maxCount) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemset: count is larger than maxCount");
  }
  std::memset(devPtr, value, count);
  return ACL_SUCCESS;
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(devPtr);
  if (count > maxCount) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemsetAsync: count is larger than maxCount");
  }
  auto on = runtime::streamOf(stream);
  if (!on.isOk()) return streamError(on.status());
  if (count == 0) return ACL_SUCCESS;
  const Status status = runtime::enqueueFill(*on, devPtr, value, count);
  return fail(callError(status), status);
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(free);
  ACL_REQUIRE_POINTER(total);
  if (attr < ACL_DDR_MEM || attr > ACL_HBM_MEM_P2P_NORMAL) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetMemInfo: unknown attribute");
  }
  const runtime::MemoryState state = runtime::memoryState();
  const uint64_t reserve = runtime::memoryReserve(state);
  *free = state.available > reserve ? state.available - reserve : 0;
  *total = state.total;
  return ACL_SUCCESS;
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(ptr);
  ACL_REQUIRE_POINTER(attributes);
  *attributes = {};
  attributes->pageSize = 4096;
  attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  if (const auto allocation = runtime::findUser(ptr)) {
    attributes->location.type =
        allocation->host ? ACL_MEM_LOCATION_TYPE_HOST : ACL_MEM_LOCATION_TYPE_DEVICE;
    attributes->location.id = allocation->host ? 0 : static_cast<uint32_t>(allocation->device);
  } else if (const int32_t device = runtime::mappedDevice(ptr); device >= 0) {
    attributes->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attributes->location.id = static_cast<uint32_t>(device);
  }
  return ACL_SUCCESS;
}

// ---- addresses and physical memory ----

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                uint64_t flags) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(virPtr);
  if (alignment != 0 || flags > 1) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtReserveMemAddress: alignment must be 0 and flags 0 or 1");
  }
  auto range = runtime::reserveAddress(size, expectPtr);
  if (!range.isOk()) return vmmError(range.status());
  *virPtr = *range;
  return ACL_SUCCESS;
}

aclError aclrtReleaseMemAddress(void* virPtr) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(virPtr);
  return vmmError(runtime::releaseAddress(virPtr));
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                             const aclrtPhysicalMemProp* prop, uint64_t flags) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(handle);
  ACL_REQUIRE_POINTER(prop);
  if (flags != 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocPhysical: flags must be 0");
  if (prop->location.type != ACL_MEM_LOCATION_TYPE_DEVICE ||
      prop->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocPhysical: only pinned device memory");
  }
  if (prop->location.id >= runtime::deviceCount()) {
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtMallocPhysical: no such device");
  }
  auto memory = runtime::allocatePhysical(static_cast<int32_t>(prop->location.id), size);
  if (!memory.isOk()) return vmmError(memory.status());
  *handle = *memory;
  return ACL_SUCCESS;
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(handle);
  return vmmError(runtime::freePhysical(handle));
}

aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                     uint64_t flags) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(virPtr);
  ACL_REQUIRE_POINTER(handle);
  if (offset != 0 || flags != 0) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMapMem: offset and flags must be 0");
  }
  return vmmError(runtime::mapPhysical(virPtr, size, handle));
}

aclError aclrtUnmapMem(void* virPtr) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(virPtr);
  return vmmError(runtime::unmapPhysical(virPtr));
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop,
                                          aclrtMemGranularityOptions option, size_t* granularity) {
  ACL_ENTER();
  ACL_REQUIRE_POINTER(prop);
  ACL_REQUIRE_POINTER(granularity);
  if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM &&
      option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemGetAllocationGranularity: unknown option");
  }
  *granularity = runtime::kGranularity;
  return ACL_SUCCESS;
}

}  // namespace hccl::acl
