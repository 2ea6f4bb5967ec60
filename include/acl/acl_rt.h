/*
 * acl_rt.h - devices, streams, events, memory and callbacks (libascendcl).
 *
 * A device is a share of the host's cores with its own memory arena, which peers on the same server
 * can map; its pointers are ordinary host pointers. The current device belongs to the thread.
 * Unless a function says otherwise it returns ACL_SUCCESS, ACL_ERROR_INVALID_PARAM for NULL or
 * illegal arguments (unknown handles included), ACL_ERROR_RT_CONTEXT_NULL when the thread has no
 * current device but needs one, ACL_ERROR_RT_MEMORY_ALLOCATION when memory runs out. After fork the
 * child's calls fail with ACL_ERROR_RT_INTERNAL_ERROR. Functions may be called from any thread.
 */
#ifndef ACL_RT_H_
#define ACL_RT_H_

#include <stdbool.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Event flags. */
#define ACL_EVENT_SYNC 0x00000001u                    /* orders streams */
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002u /* may be queried */
#define ACL_EVENT_TIME_LINE 0x00000008u               /* takes a time stamp */
#define ACL_EVENT_DEVICE_USE_ONLY 0x00000010u

/* Stream flags: accepted and recorded; every stream is fast here. */
#define ACL_STREAM_FAST_LAUNCH 0x00000001u
#define ACL_STREAM_FAST_SYNC 0x00000002u

/* Stream failure modes. */
#define ACL_CONTINUE_ON_FAILURE 0x00000000u /* later tasks run after a failed one */
#define ACL_STOP_ON_FAILURE 0x00000001u     /* later tasks are dropped after a failed one */

typedef enum aclrtRunMode { ACL_DEVICE = 0, ACL_HOST = 1 } aclrtRunMode;

typedef enum aclrtEventStatus {
  ACL_EVENT_STATUS_COMPLETE = 0,
  ACL_EVENT_STATUS_NOT_READY = 1,
  ACL_EVENT_STATUS_RESERVED = 2
} aclrtEventStatus;

typedef enum aclrtEventRecordedStatus {
  ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
  ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
} aclrtEventRecordedStatus;

typedef enum aclrtEventWaitStatus {
  ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
  ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
  ACL_EVENT_WAIT_STATUS_RESERVED = 0xffff
} aclrtEventWaitStatus;

typedef enum aclrtStreamStatus {
  ACL_STREAM_STATUS_COMPLETE = 0,
  ACL_STREAM_STATUS_NOT_READY = 1,
  ACL_STREAM_STATUS_RESERVED = 0xFFFF
} aclrtStreamStatus;

typedef enum aclrtCallbackBlockType {
  ACL_CALLBACK_NO_BLOCK = 0, /* the stream goes on while the callback runs */
  ACL_CALLBACK_BLOCK = 1     /* the stream waits for the callback */
} aclrtCallbackBlockType;

typedef enum aclrtMemcpyKind {
  ACL_MEMCPY_HOST_TO_HOST = 0,
  ACL_MEMCPY_HOST_TO_DEVICE = 1,
  ACL_MEMCPY_DEVICE_TO_HOST = 2,
  ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
  ACL_MEMCPY_DEFAULT = 4
} aclrtMemcpyKind;

/* Page size wishes of aclrtMalloc: a hint on a host, never a reason to fail. */
typedef enum aclrtMemMallocPolicy {
  ACL_MEM_MALLOC_HUGE_FIRST = 0,
  ACL_MEM_MALLOC_HUGE_ONLY = 1,
  ACL_MEM_MALLOC_NORMAL_ONLY = 2,
  ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
  ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
  ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
  ACL_MEM_MALLOC_HUGE1G_ONLY = 6
} aclrtMemMallocPolicy;

typedef enum aclrtMemAttr {
  ACL_DDR_MEM = 0,
  ACL_HBM_MEM = 1,
  ACL_DDR_MEM_HUGE = 2,
  ACL_DDR_MEM_NORMAL = 3,
  ACL_HBM_MEM_HUGE = 4,
  ACL_HBM_MEM_NORMAL = 5,
  ACL_DDR_MEM_P2P_HUGE = 6,
  ACL_DDR_MEM_P2P_NORMAL = 7,
  ACL_HBM_MEM_P2P_HUGE = 8,
  ACL_HBM_MEM_P2P_NORMAL = 9
} aclrtMemAttr;

typedef enum aclrtFloatOverflowMode {
  ACL_RT_OVERFLOW_MODE_SATURATION = 0,
  ACL_RT_OVERFLOW_MODE_INFNAN = 1,
  ACL_RT_OVERFLOW_MODE_UNDEF = 2
} aclrtFloatOverflowMode;

typedef enum aclrtMemLocationType {
  ACL_MEM_LOCATION_TYPE_HOST = 0,
  ACL_MEM_LOCATION_TYPE_DEVICE = 1,
  ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2 /* memory that the runtime did not allocate */
} aclrtMemLocationType;

typedef struct aclrtMemLocation {
  uint32_t id; /* device number when type is DEVICE */
  aclrtMemLocationType type;
} aclrtMemLocation;

typedef struct aclrtPtrAttributes {
  aclrtMemLocation location;
  uint32_t pageSize; /* bytes */
  uint32_t rsv[4];
} aclrtPtrAttributes;

typedef enum aclrtMemAllocationType { ACL_MEM_ALLOCATION_TYPE_PINNED = 0 } aclrtMemAllocationType;

typedef enum aclrtMemHandleType { ACL_MEM_HANDLE_TYPE_NONE = 0 } aclrtMemHandleType;

/* What aclrtMallocPhysical allocates. */
typedef struct aclrtPhysicalMemProp {
  aclrtMemHandleType handleType;
  aclrtMemAllocationType allocationType;
  aclrtMemAttr memAttr;
  aclrtMemLocation location; /* type DEVICE, id a device number */
  uint64_t reserve;          /* 0 */
} aclrtPhysicalMemProp;

typedef enum aclrtMemGranularityOptions {
  ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
  ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
  ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF = 0xFFFF
} aclrtMemGranularityOptions;

typedef enum aclrtLastErrLevel { ACL_RT_THREAD_LEVEL = 0 } aclrtLastErrLevel;

/* A task that failed; valid only inside the callback that receives it. */
typedef struct rtExceptionInfo aclrtExceptionInfo;

typedef void (*aclrtCallback)(void* userData);
typedef void (*aclrtHostFunc)(void* args);
typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo* exceptionInfo);

/* ---- Devices and contexts ---- */

/*
 * Makes deviceId the calling thread's current device and opens it if this process has not. May be
 * called again, and for other devices; several threads may share a device. Counted per process and
 * device: aclrtResetDevice undoes it.
 * Returns ACL_ERROR_RT_INVALID_DEVICEID unless 0 <= deviceId < device count.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetDevice(int32_t deviceId);

/*
 * Waits for the device's streams; the reset that answers the first aclrtSetDevice of the device
 * frees its streams, events and memory. The calling thread has no current device afterwards if it
 * was this one. Returns ACL_ERROR_RT_INVALID_DEVICEID for a device that does not exist or was not
 * set.
 */
ACL_FUNC_VISIBILITY aclError aclrtResetDevice(int32_t deviceId);

/* Writes the calling thread's current device. Returns ACL_ERROR_RT_CONTEXT_NULL when it has none.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDevice(int32_t* deviceId);

/*
 * Writes the number of devices of this host: its physical cores as far as the process may use them,
 * or the environment variable HCCL_HOST_DEVICES. Needs no current device.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCount(uint32_t* count);

/* Writes ACL_HOST: the program and the devices share one address space. */
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode* runMode);

/* Waits for all streams of the current device. Returns the first error of a task. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDevice(void);

/*
 * As aclrtSynchronizeDevice, for at most timeout milliseconds (-1 = for ever).
 * Returns ACL_ERROR_RT_STREAM_SYNC_TIMEOUT when time runs out; the tasks go on.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

/*
 * Drops the tasks that wait in deviceId's streams of this process and ends running collectives,
 * which then report ACL_ERROR_RT_DEVICE_TASK_ABORT. Waits up to timeout milliseconds (0 = for ever)
 * for running tasks to leave. Returns ACL_ERROR_RT_WAIT_TIMEOUT when time runs out.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout);

/*
 * Accepted and recorded for the current device. Host arithmetic does not depend on it: floating
 * point follows IEEE 754 (infinities and NaN are kept), integers wrap.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);

/* Writes what aclrtSetDeviceSatMode recorded; INFNAN at first. */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode);

/*
 * Writes 1 to canAccessPeer when memory of peerDeviceId can be addressed from deviceId: always, for
 * two different devices of this host. Returns ACL_ERROR_RT_INVALID_DEVICEID for unknown devices.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId,
                                                      int32_t peerDeviceId);

/*
 * Makes a context on deviceId, current for the calling thread. A context is a device with its own
 * set of default resources; threads that use the same one share them.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);

/* Frees a context of aclrtCreateContext. Destroy its streams and events first. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);

/* Makes context, and with it its device, current for the calling thread. */
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);

/*
 * Writes the calling thread's context: the one set, or the default context of its current device.
 * Returns ACL_ERROR_RT_CONTEXT_NULL when it has none.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext* context);

/* ---- Streams ---- */

/*
 * Makes a stream on the current device: a queue whose tasks run one after the other, in the order
 * of the calls. Destroy it with aclrtDestroyStream.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream* stream);

/* As aclrtCreateStream. priority and the stream flags are recorded and change nothing. */
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority,
                                                         uint32_t flag);

/* Waits for the stream's tasks, then frees it. The handle is dead afterwards. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);

/* Frees the stream without waiting for tasks that have not begun: they are dropped. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);

/*
 * Waits until all tasks that the stream holds now are done; NULL means the default stream of the
 * current device. Returns the error of the first task that failed since the last call, such as
 * ACL_ERROR_RT_SUSPECT_REMOTE_ERROR when a peer of a collective died.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);

/*
 * As aclrtSynchronizeStream, for at most timeout milliseconds (-1 = for ever).
 * Returns ACL_ERROR_RT_STREAM_SYNC_TIMEOUT when time runs out; the tasks go on.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

/* Writes whether all tasks of the stream are done. Never waits. */
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);

/* Writes the stream's number, unique among the process's live streams. */
ACL_FUNC_VISIBILITY aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId);

/*
 * Sets what happens after a failed task of the stream: ACL_CONTINUE_ON_FAILURE (at first) or
 * ACL_STOP_ON_FAILURE.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

/*
 * Adds a task to the stream that waits for event's newest record. Asynchronous. A wait for an event
 * that was never recorded is over at once.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/*
 * Limits, for the whole process, how many seconds aclrtStreamWaitEvent tasks wait (0 = for ever, at
 * first). A task that runs out fails with ACL_ERROR_RT_TASK_TIMEOUT.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetOpWaitTimeout(uint32_t timeout);

/* ---- Events ---- */

/* Makes an event with time stamps that can order streams and be queried. */
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent* event);

/* Makes an event with the capabilities of flag, a mask of ACL_EVENT_*. */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);

/* As aclrtCreateEventWithFlag; the event may be recorded again without a reset. */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);

/* Frees the event; tasks that use it finish as if it lived. The handle is dead afterwards. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);

/*
 * Adds a task to the stream that marks event complete, with the time, when the stream gets there.
 * Asynchronous. A new record replaces the old one.
 */
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/* Adds a task to the stream that makes event as good as never recorded. Asynchronous. */
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/* Writes whether the newest record is complete (COMPLETE too when never recorded). */
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status);

/* Writes whether the newest record is complete (COMPLETE too when never recorded). */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent event,
                                                   aclrtEventRecordedStatus* status);

/* Writes whether all aclrtStreamWaitEvent tasks on the event are done. */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent event,
                                                       aclrtEventWaitStatus* status);

/* Waits for the event's newest record; returns at once when it was never recorded. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);

/*
 * As aclrtSynchronizeEvent, for at most timeout milliseconds (-1 = for ever).
 * Returns ACL_ERROR_RT_EVENT_SYNC_TIMEOUT when time runs out.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/*
 * Writes the milliseconds between two completed records.
 * Returns ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID when one has no time stamp yet,
 * ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL when endEvent lies before startEvent.
 */
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent,
                                                   aclrtEvent endEvent);

/*
 * Writes the time of the newest record, in microseconds of the monotonic clock.
 * Returns ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID when there is none yet.
 */
ACL_FUNC_VISIBILITY aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp);

/* ---- Memory ---- */

/*
 * Allocates size bytes in the current device's arena, aligned to at least 512 bytes; the content is
 * undefined. Collectives between ranks of one server address such memory directly, without copies.
 * Returns ACL_ERROR_INVALID_PARAM for a NULL pointer or size 0, ACL_ERROR_RT_MEMORY_ALLOCATION when
 * the host has no more.
 */
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

/*
 * Frees memory of aclrtMalloc. Operations that use it must be done (synchronise first).
 * Returns ACL_ERROR_INVALID_PARAM for NULL or an address that aclrtMalloc did not return.
 */
ACL_FUNC_VISIBILITY aclError aclrtFree(void* devPtr);

/* Allocates size bytes of host memory, aligned to at least 64 bytes. Free with aclrtFreeHost. */
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void** hostPtr, size_t size);

/* Frees memory of aclrtMallocHost. */
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void* hostPtr);

/*
 * Copies count bytes from src to dst, which has room for destMax, and returns when it is done. kind
 * is checked to be legal and otherwise ignored. Ranges must not overlap. count 0 does nothing.
 * Returns ACL_ERROR_INVALID_PARAM when count > destMax.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                                         aclrtMemcpyKind kind);

/* As aclrtMemcpy, as a task of the stream. Asynchronous: both ranges must stay until it is done. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src,
                                              size_t count, aclrtMemcpyKind kind,
                                              aclrtStream stream);

/*
 * Sets count bytes at devPtr, which has room for maxCount, to the low byte of value, and returns
 * when it is done. Returns ACL_ERROR_INVALID_PARAM when count > maxCount.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value,
                                         size_t count);

/* As aclrtMemset, as a task of the stream. Asynchronous. */
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value,
                                              size_t count, aclrtStream stream);

/*
 * Writes the free and total bytes of memory that the current device can allocate: the host's,
 * within the limits of the process's control group. attr changes nothing.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total);

/* Writes where ptr lies: a device's arena, aclrtMallocHost memory, or neither. */
ACL_FUNC_VISIBILITY aclError aclrtPointerGetAttributes(const void* ptr,
                                                       aclrtPtrAttributes* attributes);

/*
 * Reserves size bytes of addresses (a multiple of the granularity), at expectPtr if that is not
 * NULL and free; alignment must be 0. flags: 0, or 1 for huge pages (a hint). The range has no
 * memory until aclrtMapMem. Free with aclrtReleaseMemAddress.
 */
ACL_FUNC_VISIBILITY aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment,
                                                    void* expectPtr, uint64_t flags);

/* Gives the addresses of aclrtReserveMemAddress back. Unmap memory first. */
ACL_FUNC_VISIBILITY aclError aclrtReleaseMemAddress(void* virPtr);

/*
 * Allocates size bytes (a multiple of the granularity) of memory without an address, on the device
 * of prop. flags must be 0. Free with aclrtFreePhysical.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                                                 const aclrtPhysicalMemProp* prop, uint64_t flags);

/* Frees memory of aclrtMallocPhysical; mappings of it must be gone. */
ACL_FUNC_VISIBILITY aclError aclrtFreePhysical(aclrtDrvMemHandle handle);

/*
 * Puts size bytes of handle at virPtr, inside a range of aclrtReserveMemAddress. offset and flags
 * must be 0. The memory can then be used as if aclrtMalloc had returned it.
 */
ACL_FUNC_VISIBILITY aclError aclrtMapMem(void* virPtr, size_t size, size_t offset,
                                         aclrtDrvMemHandle handle, uint64_t flags);

/* Undoes aclrtMapMem. */
ACL_FUNC_VISIBILITY aclError aclrtUnmapMem(void* virPtr);

/* Writes the size in bytes whose multiples the functions above accept. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop,
                                                              aclrtMemGranularityOptions option,
                                                              size_t* granularity);

/* ---- Callbacks ---- */

/*
 * Adds func(args) to the stream; it runs on a thread of the library that belongs to the stream, and
 * the stream waits for it. Asynchronous. func must not call functions that wait for this stream.
 */
ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc func,
                                                 void* args);

/*
 * Adds fn(userData) to the stream. If a thread subscribed to the stream (aclrtSubscribeReport), fn
 * runs in its aclrtProcessReport, otherwise on a thread of the library that belongs to the stream.
 * Asynchronous.
 */
ACL_FUNC_VISIBILITY aclError aclrtLaunchCallback(aclrtCallback fn, void* userData,
                                                 aclrtCallbackBlockType blockType,
                                                 aclrtStream stream);

/*
 * Names the thread (its pthread_self) whose aclrtProcessReport runs the stream's callbacks.
 * Returns ACL_ERROR_RT_STREAM_SUBSCRIBE when the stream has one.
 */
ACL_FUNC_VISIBILITY aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);

/* Undoes aclrtSubscribeReport. */
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

/*
 * Runs one waiting callback of the streams that the calling thread subscribed to; waits for one up
 * to timeout milliseconds (-1 = for ever). Returns ACL_ERROR_RT_REPORT_TIMEOUT when none came,
 * ACL_ERROR_RT_THREAD_SUBSCRIBE when the thread subscribed to none.
 */
ACL_FUNC_VISIBILITY aclError aclrtProcessReport(int32_t timeout);

/* ---- Errors ---- */

/* The newest error of a runtime call or task seen by the calling thread, which it forgets. */
ACL_FUNC_VISIBILITY aclError aclrtGetLastError(aclrtLastErrLevel level);

/* As aclrtGetLastError, without forgetting. */
ACL_FUNC_VISIBILITY aclError aclrtPeekAtLastError(aclrtLastErrLevel level);

/*
 * Names a function that is told of each failed task of this process, on a thread of the library;
 * NULL names none.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback);

/* Facts of a failed task; 0xFFFFFFFF for NULL. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info);

#ifdef __cplusplus
}
#endif

#endif /* ACL_RT_H_ */
