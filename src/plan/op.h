// OpDesc: what a rank asks of a communicator, in the agreed facts (equal on all ranks) that select
// and shape a plan. Addresses and local counts are launch parameters and live in src/executor.
#pragma once

#include <cstdint>

#include "hccl/hccl_types.h"

namespace hccl::plan {

struct OpDesc {
  HcclCMDType type = HCCL_CMD_ALLREDUCE;
  HcclDataType dataType = HCCL_DATA_TYPE_FP32;
  HcclReduceOp reduceOp = HCCL_REDUCE_RESERVED;
  uint32_t root = 0;
  // Elements: the whole vector for AllReduce, Reduce, Broadcast; a rank's block otherwise (the
  // largest block of V operations where all ranks know all blocks; unused for AlltoAllV and
  // AlltoAllVC).
  uint64_t count = 0;

  bool operator==(const OpDesc&) const = default;
};

// Packed into 64 bits and carried by the first contact of every pair: a difference is named field
// by field.
struct Signature {
  uint8_t type = 0;
  uint8_t dataType = 0;
  uint8_t reduceOp = 0;
  uint32_t root = 0;      // 20 bits
  uint8_t algorithm = 0;  // id of the schedule's shape
  uint16_t geometry = 0;  // 12 bits: hash of the chunk grid

  uint64_t pack() const {
    return uint64_t{type} | uint64_t{dataType} << 8 | uint64_t{reduceOp} << 16 |
           (uint64_t{root} & 0xfffff) << 24 | uint64_t{algorithm} << 44 |
           (uint64_t{geometry} & 0xfff) << 52;
  }
  static Signature unpack(uint64_t bits) {
    Signature s;
    s.type = static_cast<uint8_t>(bits);
    s.dataType = static_cast<uint8_t>(bits >> 8);
    s.reduceOp = static_cast<uint8_t>(bits >> 16);
    s.root = static_cast<uint32_t>(bits >> 24) & 0xfffff;
    s.algorithm = static_cast<uint8_t>(bits >> 44);
    s.geometry = static_cast<uint16_t>(bits >> 52) & 0xfff;
    return s;
  }
};

// True for operations on one vector that is cut into blocks; false for those whose blocks are the
// ranks' parts.
inline bool isVectorOp(HcclCMDType type) {
  return type == HCCL_CMD_ALLREDUCE || type == HCCL_CMD_REDUCE || type == HCCL_CMD_BROADCAST ||
         type == HCCL_CMD_BARRIER;
}
inline bool isAllToAll(HcclCMDType type) {
  return type == HCCL_CMD_ALLTOALL || type == HCCL_CMD_ALLTOALLV || type == HCCL_CMD_ALLTOALLVC;
}
inline bool hasVaryingBlocks(HcclCMDType type) {
  return type == HCCL_CMD_ALLGATHER_V || type == HCCL_CMD_REDUCE_SCATTER_V;
}
inline bool isRooted(HcclCMDType type) {
  return type == HCCL_CMD_REDUCE || type == HCCL_CMD_BROADCAST || type == HCCL_CMD_SCATTER;
}
// The output may begin where an input of another size begins; it is staged then.
inline bool mayBeAliased(HcclCMDType type) {
  return hasVaryingBlocks(type) || type == HCCL_CMD_ALLGATHER || type == HCCL_CMD_REDUCE_SCATTER ||
         type == HCCL_CMD_SCATTER;
}
// The whole output may lie where the whole input lies.
inline bool mayBeInPlace(HcclCMDType type) {
  return type == HCCL_CMD_ALLREDUCE || type == HCCL_CMD_REDUCE;
}

inline bool isReduction(HcclCMDType type) {
  return type == HCCL_CMD_ALLREDUCE || type == HCCL_CMD_REDUCE || type == HCCL_CMD_REDUCE_SCATTER ||
         type == HCCL_CMD_REDUCE_SCATTER_V;
}
const char* opName(HcclCMDType type);  // "AllReduce", ...

}  // namespace hccl::plan
