/*
 * acl_base.h - basic types and error codes of the runtime (libascendcl).
 * Valid C99, C++11 and later. On this library a device is a share of the host's cores and a range
 * of host memory; every device pointer may be read and written by ordinary code.
 */
#ifndef ACL_BASE_H_
#define ACL_BASE_H_

#include <stddef.h>
#include <stdint.h>

#ifndef ACL_FUNC_VISIBILITY
#define ACL_FUNC_VISIBILITY
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Handles, owned by the library. */
typedef void* aclrtStream;
typedef void* aclrtEvent;
typedef void* aclrtContext;
typedef void* aclrtDrvMemHandle;

/* What runtime functions return: ACL_SUCCESS or one of the codes below. */
typedef int aclError;

/* An IEEE 754 binary16 number, as bits. */
typedef uint16_t aclFloat16;

#ifdef __cplusplus
static const int ACL_SUCCESS = 0;
static const int ACL_ERROR_NONE = 0;
static const int ACL_ERROR_INVALID_PARAM = 100000;
static const int ACL_ERROR_UNINITIALIZE = 100001;
static const int ACL_ERROR_REPEAT_INITIALIZE = 100002;
static const int ACL_ERROR_INVALID_FILE = 100003;
static const int ACL_ERROR_REPEAT_SUBSCRIBE = 100033;
static const int ACL_ERROR_STREAM_NOT_SUBSCRIBE = 100034;
static const int ACL_ERROR_THREAD_NOT_SUBSCRIBE = 100035;
static const int ACL_ERROR_WAIT_CALLBACK_TIMEOUT = 100036;
static const int ACL_ERROR_REPEAT_FINALIZE = 100037;
static const int ACL_ERROR_PROF_ALREADY_RUN = 100042;
static const int ACL_ERROR_PROF_NOT_RUN = 100043;
static const int ACL_ERROR_BAD_ALLOC = 200000;
static const int ACL_ERROR_API_NOT_SUPPORT = 200001;
static const int ACL_ERROR_INVALID_DEVICE = 200002;
static const int ACL_ERROR_MEMORY_ADDRESS_UNALIGNED = 200003;
static const int ACL_ERROR_INVALID_RESOURCE_HANDLE = 200005;
static const int ACL_ERROR_FEATURE_UNSUPPORTED = 200006;
static const int ACL_ERROR_STORAGE_OVER_LIMIT = 300000;
static const int ACL_ERROR_INTERNAL_ERROR = 500000;
static const int ACL_ERROR_FAILURE = 500001;
static const int ACL_ERROR_RT_FAILURE = 500003;
static const int ACL_ERROR_DRV_FAILURE = 500004;
static const int ACL_ERROR_PROFILING_FAILURE = 500005;
#else
#define ACL_SUCCESS 0
#define ACL_ERROR_NONE 0
#define ACL_ERROR_INVALID_PARAM 100000
#define ACL_ERROR_UNINITIALIZE 100001
#define ACL_ERROR_REPEAT_INITIALIZE 100002
#define ACL_ERROR_INVALID_FILE 100003
#define ACL_ERROR_REPEAT_SUBSCRIBE 100033
#define ACL_ERROR_STREAM_NOT_SUBSCRIBE 100034
#define ACL_ERROR_THREAD_NOT_SUBSCRIBE 100035
#define ACL_ERROR_WAIT_CALLBACK_TIMEOUT 100036
#define ACL_ERROR_REPEAT_FINALIZE 100037
#define ACL_ERROR_PROF_ALREADY_RUN 100042
#define ACL_ERROR_PROF_NOT_RUN 100043
#define ACL_ERROR_BAD_ALLOC 200000
#define ACL_ERROR_API_NOT_SUPPORT 200001
#define ACL_ERROR_INVALID_DEVICE 200002
#define ACL_ERROR_MEMORY_ADDRESS_UNALIGNED 200003
#define ACL_ERROR_INVALID_RESOURCE_HANDLE 200005
#define ACL_ERROR_FEATURE_UNSUPPORTED 200006
#define ACL_ERROR_STORAGE_OVER_LIMIT 300000
#define ACL_ERROR_INTERNAL_ERROR 500000
#define ACL_ERROR_FAILURE 500001
#define ACL_ERROR_RT_FAILURE 500003
#define ACL_ERROR_DRV_FAILURE 500004
#define ACL_ERROR_PROFILING_FAILURE 500005
#endif

/* Codes of the device runtime. */
#define ACL_ERROR_RT_PARAM_INVALID 107000            /* an argument has an illegal value */
#define ACL_ERROR_RT_INVALID_DEVICEID 107001         /* no such device */
#define ACL_ERROR_RT_CONTEXT_NULL 107002             /* the thread has no current device */
#define ACL_ERROR_RT_STREAM_CONTEXT 107003           /* the stream belongs to another device */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID 107006  /* the event has no time stamp (yet) */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL 107007 /* the end lies before the start */
#define ACL_ERROR_RT_ADDR_UNALIGNED 107008
#define ACL_ERROR_RT_STREAM_SUBSCRIBE 107011
#define ACL_ERROR_RT_THREAD_SUBSCRIBE 107012
#define ACL_ERROR_RT_STREAM_NO_CB_REG 107015
#define ACL_ERROR_RT_INVALID_MEMORY_TYPE 107016
#define ACL_ERROR_RT_INVALID_HANDLE 107017
#define ACL_ERROR_RT_WAIT_TIMEOUT 107019      /* a wait with a limit ran out of time */
#define ACL_ERROR_RT_TASK_TIMEOUT 107020      /* a task of a stream ran out of time */
#define ACL_ERROR_RT_DEVICE_TASK_ABORT 107022 /* aclrtDeviceTaskAbort ended the task */
#define ACL_ERROR_RT_STREAM_ABORT 107023      /* aclrtDestroyStreamForce ended the task */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT 207000
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001 /* out of memory */
#define ACL_ERROR_RT_MEMORY_FREE 207002
#define ACL_ERROR_RT_NO_DEVICE 207004
#define ACL_ERROR_RT_RESOURCE_ALLOC_FAIL 207005
#define ACL_ERROR_RT_REPEATED_INIT 207015
#define ACL_ERROR_RT_INTERNAL_ERROR 507000
#define ACL_ERROR_RT_REPORT_TIMEOUT 507012      /* aclrtProcessReport saw no callback in time */
#define ACL_ERROR_RT_STREAM_SYNC_TIMEOUT 507046 /* aclrtSynchronizeStreamWithTimeout ran out */
#define ACL_ERROR_RT_EVENT_SYNC_TIMEOUT 507047
#define ACL_ERROR_RT_DEVICE_MEM_ERROR 507053
#define ACL_ERROR_RT_LINK_ERROR 507056           /* a connection to a peer broke */
#define ACL_ERROR_RT_SUSPECT_REMOTE_ERROR 507057 /* a peer failed */
#define ACL_ERROR_RT_COMM_OP_RETRY_FAIL 507904   /* a collective could not be run again */

/*
 * The processor name that programs test for product features: "Ascend910_9391" unless the
 * environment variable HCCL_HOST_SOC_NAME says otherwise. Never NULL; the text lives as long as the
 * library.
 */
ACL_FUNC_VISIBILITY const char* aclrtGetSocName(void);

#ifdef __cplusplus
}
#endif

#endif /* ACL_BASE_H_ */
