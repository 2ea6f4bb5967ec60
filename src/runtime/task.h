// A Task is one entry of a stream's queue: a copy, an event record, a host function, a collective.
// Tasks are resumable: any thread may advance any task, one thread at a time, and none may block in
// it.
#pragma once

#include "src/base/status.h"

namespace hccl::runtime {

enum class Poll {
  kIdle,      // nothing could be done now
  kProgress,  // something moved, not finished
  kDone,      // finished, well or not: see status()
};

class Task {
 public:
  virtual ~Task() = default;

  // Does what can be done without blocking. Called only while the task is the head of its stream,
  // with the stream's advance lock held (so by one thread at a time, with release/acquire between
  // threads).
  virtual Poll advance() noexcept = 0;

  // Valid once advance() returned kDone.
  virtual Status status() const = 0;

  // Called exactly once, when the stream lets go of the task (finished, or thrown away because the
  // stream was destroyed or aborted). The owner pools or deletes it; the stream no longer touches
  // it.
  virtual void retire() noexcept = 0;

  // Set before the task is enqueued: its advance() takes microseconds at most, so that the thread
  // which enqueues may do it.
  bool isBrief = false;

  // The stream's own link; nobody else touches it.
  Task* next = nullptr;
};

}  // namespace hccl::runtime
