// Message links over TCP connections.
#pragma once

#include "transport/setup.h"

namespace hccl::transport {

const TransportClass* tcpTransport();

}  // namespace hccl::transport
