// The only file that knows hwloc.
#include <hwloc.h>

#include <algorithm>
#include <memory>

#include "src/topology/host.h"

namespace hccl {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using TopologyPtr = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct Hardware {
  std::vector<CoreInfo> cores;
  uint32_t numaNodes = 1;
};

TopologyPtr loadTopology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  TopologyPtr topology(raw);
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

uint32_t firstBit(hwloc_const_bitmap_t bitmap) {
  const int bit = bitmap == nullptr ? -1 : hwloc_bitmap_first(bitmap);
  return bit < 0 ? 0 : static_cast<uint32_t>(bit);
}

CoreInfo describeCore(hwloc_obj_t object) {
  CoreInfo core;
  for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0;
       cpu = hwloc_bitmap_next(object->cpuset, cpu)) {
    core.cpus.push_back(static_cast<uint32_t>(cpu));
  }
  core.numaNode = firstBit(object->nodeset);
  return core;
}

Hardware readHardware() {
  Hardware hardware;
  if (const TopologyPtr topology = loadTopology()) {
    // Some virtual machines tell of logical CPUs only.
    hwloc_obj_type_t type = HWLOC_OBJ_CORE;
    if (hwloc_get_nbobjs_by_type(topology.get(), type) <= 0) type = HWLOC_OBJ_PU;
    const int count = hwloc_get_nbobjs_by_type(topology.get(), type);
    for (int i = 0; i < count; ++i) {
      const hwloc_obj_t object =
          hwloc_get_obj_by_type(topology.get(), type, static_cast<unsigned>(i));
      if (object != nullptr) hardware.cores.push_back(describeCore(object));
    }
    const int nodes = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_NUMANODE);
    hardware.numaNodes = static_cast<uint32_t>(std::max(nodes, 1));
  }
  if (hardware.cores.empty()) hardware.cores.push_back(CoreInfo{{0}, 0});
  return hardware;
}

const Hardware& hardware() {
  static const Hardware facts = readHardware();
  return facts;
}

}  // namespace

const std::vector<CoreInfo>& physicalCores() {
  return hardware().cores;
}

const CoreInfo& deviceCore(uint32_t deviceId) {
  const std::vector<CoreInfo>& cores = hardware().cores;
  return cores[deviceId % cores.size()];
}

uint32_t numaNodeCount() {
  return hardware().numaNodes;
}

}  // namespace hccl
