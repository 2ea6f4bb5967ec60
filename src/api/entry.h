// What every C entry point shares: the state of the process, the environment, and the way of errors
// to the caller. Entry points validate, log the entry and call in; they hold no logic.
#pragma once

#include <new>
#include <utility>

#include "hccl/hccl_types.h"
#include "src/base/env.h"
#include "src/base/status.h"
#include "src/communicator/group.h"
#include "src/fault/ei_errors.h"

namespace hccl::api {

// OK when the process may use the library and its environment is legal. Errors: HCCL_E_UNAVAIL (a
// forked child, the process' end), HCCL_E_PARA (EI0001). Cheap after the first time.
Status enter();
// The environment, after enter() was OK.
const Environment& env();

// The line of an entry point, as a default argument.
struct Where {
  const char* file;
  int line;
  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// Stores and logs the error, and returns its code.
HcclResult fail(const Status& status, const Where& where);
HcclResult failMemory(const Where& where);
HcclResult failInternal(const char* what, const Where& where);

// Runs `body`, which returns a Status, behind enter(). Nothing is thrown to the caller.
template <typename Body>
HcclResult entry(Body&& body, Where where = Where::here()) noexcept {
  try {
    Status status = enter();
    if (status.isOk()) status = std::forward<Body>(body)();
    return status.isOk() ? HCCL_SUCCESS : fail(status, where);
  } catch (const std::bad_alloc&) {
    return failMemory(where);
  } catch (const std::exception& error) {
    return failInternal(error.what(), where);
  } catch (...) {
    return failInternal("an exception of unknown kind", where);
  }
}

// The same for calls that a group queues: one that is refused ends the group's run.
template <typename Body>
HcclResult groupEntry(Body&& body, Where where = Where::here()) noexcept {
  return entry(
      [&]() -> Status {
        Status status = std::forward<Body>(body)();
        return status.isOk() || !group::isOpen() ? status : group::refuse(std::move(status));
      },
      where);
}

}  // namespace hccl::api
