// What became of this process: fresh, running, shut down at exit, or the child of a fork.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/base/status.h"

namespace hccl::runtime {

enum class ProcessState : uint8_t { kRunning, kShutdown, kForked };

inline constinit std::atomic<ProcessState> processState{ProcessState::kRunning};

inline bool isUsable() {
  return processState.load(std::memory_order_relaxed) == ProcessState::kRunning;
}

// OK, or E_UNAVAIL with the reason.
Status usableStatus();

// From now on a fork() marks its child: call once something exists that a child must not touch.
void installForkMark();

// A descriptor that the child of a fork closes at once (close is all that is safe there). The slot
// stays taken until forgetForkFd. At most 2048 descriptors; more are left to the child's exit.
void closeInForkedChild(int fd);
void forgetForkFd(int fd);

}  // namespace hccl::runtime
