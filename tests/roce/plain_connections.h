// Connections of rdma_cm and nothing else, one after the other: what the device itself survives.
#pragma once

#include <string>

namespace hccl::roce {

// How many of the wanted cycles (connect two queue pairs, disconnect) went well; `trouble` says why
// it ended before.
int plainConnections(const std::string& address, int wanted, std::string* trouble);

}  // namespace hccl::roce
