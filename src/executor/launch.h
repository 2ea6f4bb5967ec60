// Launch: the parameters of one call, which the plan leaves open.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/plan/geometry.h"
#include "src/plan/op.h"
#include "src/plan/plan.h"

namespace hccl::executor {

struct Launch {
  std::shared_ptr<const plan::Plan> plan;
  plan::OpDesc op;
  plan::Geometry geometry;  // its count pointers point into the vectors below
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  uint64_t inputBytes = 0;  // of the caller's buffers, for reach and overlap
  uint64_t outputBytes = 0;
  bool outputAliasesInput =
      false;  // in a way that forbids writing it before the input was read by all
  uint64_t sequence = 0;
  uint64_t ticket = 0;  // of the flight recorder
  uint64_t signature = 0;
  uint64_t agreedCount = 0;  // carried to peers; AlltoAll operations carry the pair's count instead
  std::vector<uint64_t> inputCounts;
  std::vector<uint64_t> inputDispls;
  std::vector<uint64_t> outputCounts;
  std::vector<uint64_t> outputDispls;

  // What the pair's first contact says about the amount of data from this rank to `peer`, or back.
  uint64_t countTo(uint32_t peer) const {
    return plan->pairRelative && !inputCounts.empty() ? inputCounts[peer] : agreedCount;
  }
  uint64_t countFrom(uint32_t peer) const {
    return plan->pairRelative && !outputCounts.empty() ? outputCounts[peer] : agreedCount;
  }
};

}  // namespace hccl::executor
