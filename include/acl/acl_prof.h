/*
 * acl_prof.h - profiling sessions (libascendcl). A host has no profiling hardware: sessions and
 * masks are checked, recorded and otherwise without effect; no profile is written.
 */
#ifndef ACL_PROF_H_
#define ACL_PROF_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to profile: a bit mask. */
#define ACL_PROF_ACL_API 0x0001ULL
#define ACL_PROF_TASK_TIME 0x0002ULL
#define ACL_PROF_AICORE_METRICS 0x0004ULL
#define ACL_PROF_AICPU 0x0008ULL
#define ACL_PROF_L2CACHE 0x0010ULL
#define ACL_PROF_HCCL_TRACE 0x0020ULL
#define ACL_PROF_TRAINING_TRACE 0x0040ULL
#define ACL_PROF_MSPROFTX 0x0080ULL
#define ACL_PROF_RUNTIME_API 0x0100ULL

typedef enum {
  ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
  ACL_AICORE_PIPE_UTILIZATION = 1,
  ACL_AICORE_MEMORY_BANDWIDTH = 2,
  ACL_AICORE_L0B_AND_WIDTH = 3,
  ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
  ACL_AICORE_MEMORY_UB = 5,
  ACL_AICORE_L2_CACHE = 6,
  ACL_AICORE_NONE = 0xFF
} aclprofAicoreMetrics;

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;

/*
 * Opens the process's profiling session. profilerResultPath, length characters long, is the folder
 * for results.
 * Returns ACL_SUCCESS; ACL_ERROR_INVALID_PARAM for a NULL or empty path;
 * ACL_ERROR_REPEAT_INITIALIZE when a session is open.
 */
ACL_FUNC_VISIBILITY aclError aclprofInit(const char* profilerResultPath, size_t length);

/* Closes the session. Returns ACL_SUCCESS; ACL_ERROR_UNINITIALIZE without one. */
ACL_FUNC_VISIBILITY aclError aclprofFinalize(void);

/*
 * Begins recording for the devices and kinds of profilerConfig.
 * Returns ACL_SUCCESS; ACL_ERROR_INVALID_PARAM for NULL; ACL_ERROR_UNINITIALIZE without a session;
 * ACL_ERROR_PROF_ALREADY_RUN when recording.
 */
ACL_FUNC_VISIBILITY aclError aclprofStart(const aclprofConfig* profilerConfig);

/*
 * Ends recording.
 * Returns ACL_SUCCESS; ACL_ERROR_INVALID_PARAM for NULL; ACL_ERROR_UNINITIALIZE without a session;
 * ACL_ERROR_PROF_NOT_RUN when not recording.
 */
ACL_FUNC_VISIBILITY aclError aclprofStop(const aclprofConfig* profilerConfig);

/*
 * Makes a configuration for the deviceNums devices of deviceIdList and the kinds of dataTypeConfig;
 * aicoreEvents must be NULL. Returns NULL when an argument is illegal or memory runs out. Give it
 * back with aclprofDestroyConfig.
 */
ACL_FUNC_VISIBILITY aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums,
                                                       aclprofAicoreMetrics aicoreMetrics,
                                                       aclprofAicoreEvents* aicoreEvents,
                                                       uint64_t dataTypeConfig);

/* Frees a configuration. Returns ACL_SUCCESS; ACL_ERROR_INVALID_PARAM for NULL. */
ACL_FUNC_VISIBILITY aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig);

#ifdef __cplusplus
}
#endif

#endif /* ACL_PROF_H_ */
