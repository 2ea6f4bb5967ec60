#include "src/communicator/state_callbacks.h"

#include <map>
#include <mutex>
#include <utility>

#include "src/base/log.h"

namespace hccl {
namespace {

using Callbacks = std::map<std::string, std::pair<HcclCommStateCallback, void*>>;

std::mutex mutex;
Callbacks& callbacks() {
  static Callbacks* all = new Callbacks;  // lives until the process ends
  return *all;
}

}  // namespace

void registerStateCallback(const std::string& name, HcclCommStateCallback callback, void* args) {
  std::lock_guard lock(mutex);
  callbacks()[name] = {callback, args};
}

void runStateCallbacks(HcclComm handle, HcclCommStatePhase phase) {
  Callbacks copy;
  {
    std::lock_guard lock(mutex);
    if (callbacks().empty()) return;
    copy = callbacks();
  }
  for (const auto& [name, callback] : copy) {
    const HcclResult result = callback.first(handle, phase, callback.second);
    if (result != HCCL_SUCCESS) {
      HCCL_WARNING("state callback [{}] returned {} in phase {}", name, static_cast<int>(result),
                   static_cast<int>(phase));
    }
  }
}

}  // namespace hccl
