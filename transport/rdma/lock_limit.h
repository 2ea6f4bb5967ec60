// The limit of locked memory, as messages name it.
#pragma once

#include <string>

namespace hccl::transport::rdma {

// "unlimited" or "n bytes".
std::string lockLimit();

}  // namespace hccl::transport::rdma
