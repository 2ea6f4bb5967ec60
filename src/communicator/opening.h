// What the ways to make a communicator (initialize.h) share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/env.h"
#include "src/base/status.h"
#include "src/communicator/communicator.h"
#include "src/communicator/config.h"

namespace hccl {

// Makes the communicator, registers it and writes its lines to the run log.
Result<HcclComm> openAndRegister(CommunicatorParams params, const LoadedConfig& config,
                                 const char* op);

// HCCL_E_PARA (EI0003) when a rank `rank` of that name lives in this process.
Status checkNameFree(const std::string& name, uint32_t rank, const char* op);

struct JoinRequest {
  std::vector<HcclRootInfo> roots;
  uint32_t nRanks = 0;
  uint32_t rank = 0;
  int32_t device = 0;
  LoadedConfig config;
  HcclComm handle = nullptr;  // out
};
// Runs joinByRoots for all requests at the same time, each on a thread with its device. Returns the
// first error in the order of the requests; the others may have been made.
Status joinTogether(std::vector<JoinRequest>& requests, const Environment& environment);

}  // namespace hccl
