// The Status of a system call that failed. What ran out (descriptors, threads, memory, space) is
// named with its limit as EI0007, wherever it is found.
#pragma once

#include <string_view>

#include "src/base/status.h"

namespace hccl {

// `what` failed with `error`, an errno value. `code` is what an error that is no shortage gets,
// too.
Status systemCallError(std::string_view what, int error, HcclResult code = HCCL_E_SYSCALL);
// A thread could not be started.
Status threadStartError(std::string_view name, int error);

}  // namespace hccl
