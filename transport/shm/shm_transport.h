// Direct links: both ranks map each other's arenas.
#pragma once

#include "transport/setup.h"

namespace hccl::transport {

// Between processes of one kernel and network namespace.
const TransportClass* shmTransport();

}  // namespace hccl::transport
