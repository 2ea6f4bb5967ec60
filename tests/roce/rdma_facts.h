// What the kernel tells about RDMA devices, for tests: from sysfs and the `rdma` tool.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace hccl::roce {

struct DeviceFacts {
  std::string device;
  std::string address, address6;  // of RoCEv2 GIDs that are not link-local
  // Packets that the device has sent so far (hw_counters/sent_pkts, or tx_pkts of real ones).
  uint64_t sentPackets() const { return counter("sent_pkts"); }
  uint64_t counter(const std::string& name) const;
};
// The first active one; empty when there is none.
DeviceFacts usableDevice();

struct Objects {
  int queuePairs = 0, regions = 0, completionQueues = 0;
};
// Objects of all devices that belong to the process (`rdma resource show`).
Objects objectsOf(pid_t pid);

}  // namespace hccl::roce
