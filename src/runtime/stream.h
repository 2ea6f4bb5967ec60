// Stream: an ordered queue of tasks of one device. Enqueue never blocks and allocates nothing.
#pragma once

#include <cstdint>

#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/runtime/task.h"

namespace hccl::runtime {

class Stream;

// The live stream behind a handle (aclrtStream); nullptr when the handle is unknown or destroyed.
// A NULL handle is not mapped to a default stream here. Cheap (no lock on the hot path).
Stream* findStream(void* handle);

// Appends `task`, which belongs to the stream until Task::retire(). Ends the engine's idleness when
// needed (at most one system call, see engine.h). E_UNAVAIL in a forked child.
Status enqueue(Stream* stream, Task* task);

// Advances the stream's brief tasks as far as they go without waiting. For the thread that has just
// enqueued one, with no lock held: a loop of small operations then needs neither another thread nor
// a long queue.
void assist(Stream* stream);

// Streams for the library's own use; the contract stands in stream_impl.h.
Result<void*> createStream(int32_t device, uint32_t priority, uint32_t flags);
Status destroyStream(void* handle, bool force);

int32_t streamId(const Stream* stream);
int32_t streamDevice(const Stream* stream);

// True when no task is queued or running.
bool streamIdle(const Stream* stream);

// Helps (advances every runnable task of the process) until the stream is empty or the deadline
// passes: HCCL_E_TIMEOUT then. Returns the first error of the stream's tasks since the last
// synchronise (first cause wins), which it clears.
Status synchronize(Stream* stream, Deadline deadline);

}  // namespace hccl::runtime
