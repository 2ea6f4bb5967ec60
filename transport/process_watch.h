// ProcessWatch: tells when another process of this host ends, through one pidfd for all links to
// it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "transport/control_thread.h"

namespace hccl::transport {

// Control thread only.
class ProcessWatch {
 public:
  // nullptr when the process cannot be watched (a foreign pid namespace): its socket's end has to
  // do.
  static std::shared_ptr<ProcessWatch> of(ControlThread* thread, const std::string& process,
                                          pid_t pid);
  ~ProcessWatch();

  uint64_t add(std::function<void()> ended);
  void remove(uint64_t id) { callbacks_.erase(id); }

 private:
  ControlThread* thread_ = nullptr;
  GuardedFd fd_;
  uint64_t watch_ = 0;
  uint64_t next_ = 1;
  std::map<uint64_t, std::function<void()>> callbacks_;
};

}  // namespace hccl::transport
