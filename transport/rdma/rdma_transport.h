// Message links over RoCE.
#pragma once

#include <cstdint>

#include "transport/setup.h"

namespace hccl::transport {

const TransportClass* rdmaTransport();

// Whether the kernel has any RDMA device. Cheap and silent.
bool rdmaIsPossible();

namespace rdma {
struct RingShape;
// What this process proposes for its links; both ends take the smaller one. For tests and tools:
// set it before the first link.
RingShape& proposedShape();
}  // namespace rdma

}  // namespace hccl::transport
