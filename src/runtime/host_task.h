// Host functions and callbacks as tasks of a stream, and the threads that subscribed to callbacks.
#pragma once

#include <cstdint>

#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/runtime/stream_impl.h"

namespace hccl::runtime {

// The stream waits for the function if `block`. `callback`: a subscribed thread runs it.
Status enqueueHostCall(Stream* stream, void (*function)(void*), void* argument, bool block,
                       bool callback);

// HCCL_E_AGAIN when the stream has a subscriber.
Status subscribe(uint64_t threadId, Stream* stream);
// HCCL_E_NOT_FOUND when it is not this thread. Calls that wait go to the stream's own thread.
Status unsubscribe(uint64_t threadId, Stream* stream);
// Runs one callback in the calling thread. HCCL_E_TIMEOUT when none came, HCCL_E_NOT_FOUND when
// the thread is subscribed to no stream.
Status processReport(Deadline deadline);

}  // namespace hccl::runtime
