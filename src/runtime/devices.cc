#include "src/runtime/devices.h"

#include <hwloc.h>

#include <algorithm>

#include "src/base/env.h"
#include "src/runtime/engine.h"

namespace hccl::runtime {
namespace {

constexpr uint32_t kMaxDevices = 1024;
constexpr uint64_t kUsualCacheBytes = 32ULL << 20;
thread_local int32_t threadDevice = -1;

// What `look` finds in this host's topology; `otherwise` where there is none.
template <typename T, typename Look>
T fromTopology(T otherwise, Look look) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return otherwise;
  const T found = hwloc_topology_load(topology) == 0 ? look(topology) : otherwise;
  hwloc_topology_destroy(topology);
  return found;
}

}  // namespace

void setCurrentDevice(int32_t device) {
  threadDevice = device;
}

int32_t currentDevice(bool* set) {
  if (set != nullptr) *set = threadDevice >= 0;
  return threadDevice >= 0 ? threadDevice : 0;
}

uint32_t physicalCores() {
  // The binding of this process does not count: launchers bind each rank to a core of its own, and
  // ranks of one host name each other's devices.
  const int cores = fromTopology<int>(1, [](hwloc_topology_t topology) {
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  });
  return static_cast<uint32_t>(std::max(1, cores));
}

uint64_t lastLevelCacheBytes() {
  static const uint64_t bytes = [] {
    const auto known = fromTopology<uint64_t>(0, [](hwloc_topology_t topology) -> uint64_t {
      const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, HWLOC_OBJ_L3CACHE, 0);
      return cache == nullptr ? 0 : cache->attr->cache.size;
    });
    return known != 0 ? known : kUsualCacheBytes;
  }();
  return bytes;
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
