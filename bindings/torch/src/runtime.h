// The process' device and its streams.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "acl/acl.h"

namespace hccl_torch {

// Chooses and opens the process' device, once; later calls change nothing. Ranks of one host need
// different devices: the launcher's local rank if its numbers are those of this group, else `rank`.
// HCCL_HOST_DEVICES is set for the ranks of the group unless the user has set it.
void openDevice(int rank, int size);

// Makes the device current for the calling thread. Throws in a child of fork.
void useDevice();

// True in a child made by fork after openDevice(): nothing of the library may be touched there.
bool isForkedChild();

// Streams that wait for their next operation. One operation has a stream for itself, so that its
// end and its error can be told from those of others.
class StreamPool {
 public:
  static StreamPool& instance();

  aclrtStream acquire();
  void release(aclrtStream stream);

 private:
  std::mutex mutex_;
  std::vector<aclrtStream> idle_;
};

}  // namespace hccl_torch
