// How a door forwards: no exception crosses the C border.
#pragma once

#include <new>

// The public declarations are weak so that programs may test them; definitions are not.
#define HCOMM_WEAK_SYMBOL

#include "acl/acl.h"
#include "hccl/hccl_types.h"

#define HCCL_DOOR(call)             \
  try {                             \
    return call;                    \
  } catch (const std::bad_alloc&) { \
    return HCCL_E_OOM;              \
  } catch (...) {                   \
    return HCCL_E_INTERNAL;         \
  }

#define ACL_DOOR(call)                     \
  try {                                    \
    return call;                           \
  } catch (const std::bad_alloc&) {        \
    return ACL_ERROR_RT_MEMORY_ALLOCATION; \
  } catch (...) {                          \
    return ACL_ERROR_RT_INTERNAL_ERROR;    \
  }
