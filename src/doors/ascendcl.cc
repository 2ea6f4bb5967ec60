// Made by src/doors/generate.py out of the public headers: do not edit.
// libascendcl: the acl functions.
#include "src/doors/door.h"
#include "src/runtime/acl_api.h"

extern "C" {

const char* aclrtGetSocName() {
  return hccl::acl::aclrtGetSocName();
}

aclError aclInit(const char* configPath) {
  ACL_DOOR(hccl::acl::aclInit(configPath))
}

aclError aclFinalize() {
  ACL_DOOR(hccl::acl::aclFinalize())
}

const char* aclGetRecentErrMsg() {
  return hccl::acl::aclGetRecentErrMsg();
}

aclError aclrtSetDevice(int32_t deviceId) {
  ACL_DOOR(hccl::acl::aclrtSetDevice(deviceId))
}

aclError aclrtResetDevice(int32_t deviceId) {
  ACL_DOOR(hccl::acl::aclrtResetDevice(deviceId))
}

aclError aclrtGetDevice(int32_t* deviceId) {
  ACL_DOOR(hccl::acl::aclrtGetDevice(deviceId))
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  ACL_DOOR(hccl::acl::aclrtGetDeviceCount(count))
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  ACL_DOOR(hccl::acl::aclrtGetRunMode(runMode))
}

aclError aclrtSynchronizeDevice() {
  ACL_DOOR(hccl::acl::aclrtSynchronizeDevice())
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  ACL_DOOR(hccl::acl::aclrtSynchronizeDeviceWithTimeout(timeout))
}

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
  ACL_DOOR(hccl::acl::aclrtDeviceTaskAbort(deviceId, timeout))
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  ACL_DOOR(hccl::acl::aclrtSetDeviceSatMode(mode))
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  ACL_DOOR(hccl::acl::aclrtGetDeviceSatMode(mode))
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  ACL_DOOR(hccl::acl::aclrtDeviceCanAccessPeer(canAccessPeer, deviceId, peerDeviceId))
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  ACL_DOOR(hccl::acl::aclrtCreateContext(context, deviceId))
}

aclError aclrtDestroyContext(aclrtContext context) {
  ACL_DOOR(hccl::acl::aclrtDestroyContext(context))
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  ACL_DOOR(hccl::acl::aclrtSetCurrentContext(context))
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  ACL_DOOR(hccl::acl::aclrtGetCurrentContext(context))
}

aclError aclrtCreateStream(aclrtStream* stream) {
  ACL_DOOR(hccl::acl::aclrtCreateStream(stream))
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  ACL_DOOR(hccl::acl::aclrtCreateStreamWithConfig(stream, priority, flag))
}

aclError aclrtDestroyStream(aclrtStream stream) {
  ACL_DOOR(hccl::acl::aclrtDestroyStream(stream))
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  ACL_DOOR(hccl::acl::aclrtDestroyStreamForce(stream))
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  ACL_DOOR(hccl::acl::aclrtSynchronizeStream(stream))
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  ACL_DOOR(hccl::acl::aclrtSynchronizeStreamWithTimeout(stream, timeout))
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  ACL_DOOR(hccl::acl::aclrtStreamQuery(stream, status))
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  ACL_DOOR(hccl::acl::aclrtStreamGetId(stream, streamId))
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  ACL_DOOR(hccl::acl::aclrtSetStreamFailureMode(stream, mode))
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  ACL_DOOR(hccl::acl::aclrtStreamWaitEvent(stream, event))
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  ACL_DOOR(hccl::acl::aclrtSetOpWaitTimeout(timeout))
}

aclError aclrtCreateEvent(aclrtEvent* event) {
  ACL_DOOR(hccl::acl::aclrtCreateEvent(event))
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  ACL_DOOR(hccl::acl::aclrtCreateEventWithFlag(event, flag))
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  ACL_DOOR(hccl::acl::aclrtCreateEventExWithFlag(event, flag))
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  ACL_DOOR(hccl::acl::aclrtDestroyEvent(event))
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  ACL_DOOR(hccl::acl::aclrtRecordEvent(event, stream))
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  ACL_DOOR(hccl::acl::aclrtResetEvent(event, stream))
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  ACL_DOOR(hccl::acl::aclrtQueryEvent(event, status))
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  ACL_DOOR(hccl::acl::aclrtQueryEventStatus(event, status))
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  ACL_DOOR(hccl::acl::aclrtQueryEventWaitStatus(event, status))
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  ACL_DOOR(hccl::acl::aclrtSynchronizeEvent(event))
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  ACL_DOOR(hccl::acl::aclrtSynchronizeEventWithTimeout(event, timeout))
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  ACL_DOOR(hccl::acl::aclrtEventElapsedTime(ms, startEvent, endEvent))
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  ACL_DOOR(hccl::acl::aclrtEventGetTimestamp(event, timestamp))
}

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  ACL_DOOR(hccl::acl::aclrtMalloc(devPtr, size, policy))
}

aclError aclrtFree(void* devPtr) {
  ACL_DOOR(hccl::acl::aclrtFree(devPtr))
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  ACL_DOOR(hccl::acl::aclrtMallocHost(hostPtr, size))
}

aclError aclrtFreeHost(void* hostPtr) {
  ACL_DOOR(hccl::acl::aclrtFreeHost(hostPtr))
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
    aclrtMemcpyKind kind) {
  ACL_DOOR(hccl::acl::aclrtMemcpy(dst, destMax, src, count, kind))
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
    aclrtMemcpyKind kind, aclrtStream stream) {
  ACL_DOOR(hccl::acl::aclrtMemcpyAsync(dst, destMax, src, count, kind, stream))
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  ACL_DOOR(hccl::acl::aclrtMemset(devPtr, maxCount, value, count))
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
    aclrtStream stream) {
  ACL_DOOR(hccl::acl::aclrtMemsetAsync(devPtr, maxCount, value, count, stream))
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  ACL_DOOR(hccl::acl::aclrtGetMemInfo(attr, free, total))
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  ACL_DOOR(hccl::acl::aclrtPointerGetAttributes(ptr, attributes))
}

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr,
    uint64_t flags) {
  ACL_DOOR(hccl::acl::aclrtReserveMemAddress(virPtr, size, alignment, expectPtr, flags))
}

aclError aclrtReleaseMemAddress(void* virPtr) {
  ACL_DOOR(hccl::acl::aclrtReleaseMemAddress(virPtr))
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
    const aclrtPhysicalMemProp* prop, uint64_t flags) {
  ACL_DOOR(hccl::acl::aclrtMallocPhysical(handle, size, prop, flags))
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  ACL_DOOR(hccl::acl::aclrtFreePhysical(handle))
}

aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
    uint64_t flags) {
  ACL_DOOR(hccl::acl::aclrtMapMem(virPtr, size, offset, handle, flags))
}

aclError aclrtUnmapMem(void* virPtr) {
  ACL_DOOR(hccl::acl::aclrtUnmapMem(virPtr))
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop,
    aclrtMemGranularityOptions option, size_t* granularity) {
  ACL_DOOR(hccl::acl::aclrtMemGetAllocationGranularity(prop, option, granularity))
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc func, void* args) {
  ACL_DOOR(hccl::acl::aclrtLaunchHostFunc(stream, func, args))
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
    aclrtStream stream) {
  ACL_DOOR(hccl::acl::aclrtLaunchCallback(fn, userData, blockType, stream))
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  ACL_DOOR(hccl::acl::aclrtSubscribeReport(threadId, stream))
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  ACL_DOOR(hccl::acl::aclrtUnSubscribeReport(threadId, stream))
}

aclError aclrtProcessReport(int32_t timeout) {
  ACL_DOOR(hccl::acl::aclrtProcessReport(timeout))
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  ACL_DOOR(hccl::acl::aclrtGetLastError(level))
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  ACL_DOOR(hccl::acl::aclrtPeekAtLastError(level))
}

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  ACL_DOOR(hccl::acl::aclrtSetExceptionInfoCallback(callback))
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return hccl::acl::aclrtGetTaskIdFromExceptionInfo(info);
}

uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return hccl::acl::aclrtGetStreamIdFromExceptionInfo(info);
}

uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return hccl::acl::aclrtGetThreadIdFromExceptionInfo(info);
}

uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return hccl::acl::aclrtGetDeviceIdFromExceptionInfo(info);
}

uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return hccl::acl::aclrtGetErrorCodeFromExceptionInfo(info);
}

aclError aclprofInit(const char* profilerResultPath, size_t length) {
  ACL_DOOR(hccl::acl::aclprofInit(profilerResultPath, length))
}

aclError aclprofFinalize() {
  ACL_DOOR(hccl::acl::aclprofFinalize())
}

aclError aclprofStart(const aclprofConfig* profilerConfig) {
  ACL_DOOR(hccl::acl::aclprofStart(profilerConfig))
}

aclError aclprofStop(const aclprofConfig* profilerConfig) {
  ACL_DOOR(hccl::acl::aclprofStop(profilerConfig))
}

aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums,
    aclprofAicoreMetrics aicoreMetrics, aclprofAicoreEvents* aicoreEvents,
    uint64_t dataTypeConfig) {
  return hccl::acl::aclprofCreateConfig(deviceIdList, deviceNums, aicoreMetrics, aicoreEvents,
      dataTypeConfig);
}

aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  ACL_DOOR(hccl::acl::aclprofDestroyConfig(profilerConfig))
}

}  // extern "C"
