// AclSupport: what all acl functions share: error codes, the thread's last error, the current
// context.
#pragma once

#include <string>

#include "acl/acl.h"
#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/runtime/stream_impl.h"

namespace hccl::acl {

// Remembers the code as the thread's last error, reports the text (aclGetRecentErrMsg, log) and
// returns the code. In a forked child nothing is written.
aclError fail(aclError code, const std::string& text);
// The same with a Status: its EI code and text are kept. OK gives ACL_SUCCESS.
aclError fail(aclError code, const Status& status);
// Only remembers: time-outs of waits are answers rather than faults.
aclError note(aclError code);
aclError lastError(bool forget);

// "x must not be NULL".
aclError nullArgument(const char* function, const char* name);

// ACL_SUCCESS, or the code of a process that must not use the runtime any more.
aclError checkUsable();

// The code of a call that failed for an internal reason (out of memory, threads, descriptors).
aclError callError(const Status& status);

// The code for a stream handle that runtime::streamOf refused.
aclError streamError(const Status& status);

// Waits and takes the stream's first error.
aclError synchronizeStream(runtime::Stream* stream, Deadline deadline);

// Milliseconds of the acl functions: -1 is for ever.
Deadline deadlineOf(int32_t milliseconds);

}  // namespace hccl::acl

// First line of a function: a forked or ending process gets an error.
#define ACL_ENTER()                                                                        \
  do {                                                                                     \
    if (const aclError usable_ = ::hccl::acl::checkUsable(); usable_ != 0) return usable_; \
  } while (false)

#define ACL_REQUIRE_POINTER(pointer)                                                \
  do {                                                                              \
    if ((pointer) == nullptr) return ::hccl::acl::nullArgument(__func__, #pointer); \
  } while (false)
