#include "src/runtime/thread.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>

#include "src/base/system_error.h"

namespace hccl::runtime {

Result<Thread> Thread::start(const std::string& name, std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the new thread
  Thread made;
  Status status;
  try {
    made.thread_ = std::thread(std::move(body));
    pthread_setname_np(made.thread_.native_handle(), name.substr(0, 15).c_str());
  } catch (const std::system_error& error) {
    status = threadStartError("thread " + name, error.code().value());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!status.isOk()) return status;
  return made;
}

}  // namespace hccl::runtime
