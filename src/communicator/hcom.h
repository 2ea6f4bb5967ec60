// Groups by name over the world of a rank table (the Hcom functions).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/base/env.h"
#include "src/base/status.h"
#include "src/communicator/communicator.h"

namespace hccl::hcom {

struct Group {
  HcclComm handle = nullptr;
  std::shared_ptr<Communicator> communicator;
};

// The group of a name, nullptr and "hccl_world_group" meaning the world. Errors: HCCL_E_UNAVAIL
// when there is no world, HCCL_E_PARA (EI0003) for an illegal or unknown name.
Result<Group> find(const char* op, const char* name);

// Members are world ranks; the caller is one of them. Errors: HCCL_E_PARA (EI0003).
Status create(const char* name, std::span<const uint32_t> ranks, const Environment& environment);
// Errors: HCCL_E_PARA for the world.
Status destroy(const char* name);
// The groups, then the world.
Status destroyWorld();

}  // namespace hccl::hcom
