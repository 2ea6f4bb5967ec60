#include "src/runtime/process_state.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <mutex>

#include "src/runtime/engine.h"

namespace hccl::runtime {
namespace {

constexpr size_t kMaxFds = 2048;
// Holds fd + 1, so that zero means free.
std::array<std::atomic<int>, kMaxFds> forkFds;

void inForkedChild() {
  processState.store(ProcessState::kForked, std::memory_order_relaxed);
  for (auto& slot : forkFds) {
    const int fd = slot.exchange(0, std::memory_order_relaxed) - 1;
    if (fd >= 0) ::close(fd);
  }
}

}  // namespace

bool isForkedChild() {
  return processState.load(std::memory_order_relaxed) == ProcessState::kForked;
}

Status usableStatus() {
  switch (processState.load(std::memory_order_relaxed)) {
    case ProcessState::kRunning:
      return Status::ok();
    case ProcessState::kShutdown:
      return Status(HCCL_E_UNAVAIL, "the runtime has been shut down: the process is ending");
    case ProcessState::kForked:
      return Status(HCCL_E_UNAVAIL,
                    "this process was made by fork() from one that uses the runtime: call exec, or "
                    "use the library in the parent only");
  }
  return Status::ok();
}

void installForkMark() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, inForkedChild); });
}

void closeInForkedChild(int fd) {
  installForkMark();
  for (auto& slot : forkFds) {
    int expected = 0;
    if (slot.compare_exchange_strong(expected, fd + 1)) return;
  }
}

void forgetForkFd(int fd) {
  for (auto& slot : forkFds) {
    int expected = fd + 1;
    if (slot.compare_exchange_strong(expected, 0)) return;
  }
}

}  // namespace hccl::runtime
