/*
 * acl.h - start and end of the runtime, and its error texts (libascendcl). Brings in acl_rt.h.
 */
#ifndef ACL_ACL_H_
#define ACL_ACL_H_

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Starts the runtime for this process. configPath names a JSON file of options, or is NULL; options
 * have no meaning on a host: the file must be readable and is otherwise ignored.
 * Calling it is optional: the first runtime or HCCL call starts what it needs.
 * Returns ACL_SUCCESS; ACL_ERROR_REPEAT_INITIALIZE when already started; ACL_ERROR_INVALID_FILE
 * when the file cannot be read.
 */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);

/*
 * Ends what aclInit started: waits for every stream of the process, then frees streams, events and
 * device memory that are still there. Destroy communicators first. aclInit may follow.
 * Returns ACL_SUCCESS; ACL_ERROR_UNINITIALIZE without a preceding aclInit;
 * ACL_ERROR_REPEAT_FINALIZE when called twice.
 */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/*
 * The text of the newest error of the calling thread, with its code (such as EI0003), cause and
 * remedy; NULL when there is none. Reading it clears it. The text stays valid until the thread's
 * next call of this function.
 */
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_H_ */
