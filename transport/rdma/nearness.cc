#include "transport/rdma/nearness.h"

#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>

namespace hccl::transport::rdma {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
struct BitmapDeleter {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};

int lookUp(const std::string& device) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return -1;
  const std::unique_ptr<hwloc_topology, TopologyDeleter> topology(raw);
  // Without this, devices are left out.
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(raw) != 0) return -1;
  const std::unique_ptr<hwloc_bitmap_s, BitmapDeleter> processors(hwloc_bitmap_alloc());
  if (!processors || hwloc_get_proc_cpubind(raw, ::getpid(), processors.get(), 0) != 0) return -1;
  return nearnessIn(raw, device, processors.get());
}

}  // namespace

int nearnessIn(hwloc_topology_t topology, const std::string& device,
               hwloc_const_cpuset_t processors) {
  // What covers all of them: a core of a bound rank, the host of one that may run anywhere.
  const hwloc_obj_t own = hwloc_get_obj_covering_cpuset(topology, processors);
  if (own == nullptr) return -1;
  for (hwloc_obj_t found = hwloc_get_next_osdev(topology, nullptr); found != nullptr;
       found = hwloc_get_next_osdev(topology, found)) {
    if (found->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS || device != found->name) continue;
    const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, found);
    return hwloc_get_common_ancestor_obj(topology, place, own)->depth;
  }
  return -1;
}

int nearnessHere(const std::string& device) {
  static std::mutex mutex;
  static auto* known = new std::map<std::string, int>;
  std::lock_guard lock(mutex);
  const auto it = known->find(device);
  if (it != known->end()) return it->second;
  return known->emplace(device, lookUp(device)).first->second;
}

}  // namespace hccl::transport::rdma
