// Names the difference between what this rank does and what a peer said it does.
#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/plan/op.h"

namespace hccl::executor {

struct Contact {
  uint64_t sequence = 0;
  uint64_t signature = 0;
  uint64_t count = 0;
};

// EI0005 with the first parameter that differs, both values and both ranks. `culprit`: the one of
// both that is alone with what it does; kNoRank: the remote one.
Status mismatchError(const char* communicator, uint32_t localRank, uint32_t remoteRank,
                     const Contact& local, const Contact& remote, int culprit = kNoRank);

// The name of a data type or reduction as HCCL's logs print it.
const char* dataTypeName(uint8_t type);
const char* reduceOpName(uint8_t op);

}  // namespace hccl::executor
