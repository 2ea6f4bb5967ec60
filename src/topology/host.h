// This host: what the kernel says about identity (boot, namespaces) and what hwloc says about cores
// and NUMA nodes. Identity decides which transports can work, never how ranks are grouped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace hccl {

struct HostFacts {
  std::string hostname;
  std::string bootId;  // changes with each boot of the kernel; equal for all its containers
  // Inode numbers of /proc/self/ns/*; 0 when the kernel does not tell.
  uint64_t pidNamespace = 0, netNamespace = 0, ipcNamespace = 0, mountNamespace = 0,
           userNamespace = 0;
  uid_t uid = 0;

  // One running kernel: memory can be shared in principle.
  bool isSameKernel(const HostFacts& other) const {
    return !bootId.empty() && bootId == other.bootId;
  }
  bool operator==(const HostFacts&) const = default;
};

HostFacts readHostFacts();
// Read once per process.
const HostFacts& hostFacts();

struct CoreInfo {
  std::vector<uint32_t> cpus;  // logical CPU numbers (hardware threads), ascending
  uint32_t numaNode = 0;       // operating system's number of the node
};

// The physical cores that this process may use, in hwloc's logical order; at least one entry, also
// when the topology cannot be read. Read once per process.
const std::vector<CoreInfo>& physicalCores();
// The core that device `deviceId` is placed on: devices are dealt round the cores.
const CoreInfo& deviceCore(uint32_t deviceId);
// NUMA nodes of this host, at least 1.
uint32_t numaNodeCount();

}  // namespace hccl
