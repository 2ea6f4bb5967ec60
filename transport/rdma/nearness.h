// How near RDMA devices are to the processors of this process, by hwloc.
#pragma once

#include <hwloc.h>

#include <string>

namespace hccl::transport::rdma {

// The depth of the smallest part of the host that holds both the device's bus and `processors`: 0
// the host as a whole, more is nearer. -1 when the topology does not know the device (soft-RoCE is
// on no bus).
int nearnessIn(hwloc_topology_t topology, const std::string& device,
               hwloc_const_cpuset_t processors);

// The same for this host and the processors that this process may use; looked up once a device.
int nearnessHere(const std::string& device);

}  // namespace hccl::transport::rdma
