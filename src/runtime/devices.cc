#include "src/runtime/devices.h"

#include <hwloc.h>

#include <algorithm>

#include "src/base/env.h"
#include "src/runtime/engine.h"

namespace hccl::runtime {
namespace {

constexpr uint32_t kMaxDevices = 1024;
thread_local int32_t threadDevice = -1;

}  // namespace

void setCurrentDevice(int32_t device) {
  threadDevice = device;
}

int32_t currentDevice(bool* set) {
  if (set != nullptr) *set = threadDevice >= 0;
  return threadDevice >= 0 ? threadDevice : 0;
}

uint32_t physicalCores() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return 1;
  uint32_t cores = 0;
  if (hwloc_topology_load(topology) == 0) {
    // The binding of this process does not count: launchers bind each rank to a core of its own,
    // and ranks of one host name each other's devices.
    cores = static_cast<uint32_t>(std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE)));
  }
  hwloc_topology_destroy(topology);
  return std::max(1U, cores);
}

uint32_t deviceCount() {
  static const uint32_t count = [] {
    const auto env = environment();
    const uint32_t wanted = env.isOk() ? (*env)->hostDevices : 0;
    return std::min(kMaxDevices, wanted != 0 ? wanted : physicalCores());
  }();
  return count;
}

}  // namespace hccl::runtime
