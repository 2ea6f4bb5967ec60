#include "tools/tune/operation.h"

#include <algorithm>

#include "src/base/algo_config.h"
#include "src/plan/selector.h"
#include "tools/tune/team.h"

namespace hccl::tune {
namespace {

constexpr HcclDataType kType = HCCL_DATA_TYPE_FP32;

}  // namespace

const std::vector<Operation>& allOperations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> list;
    for (const HcclCMDType type :
         {HCCL_CMD_ALLREDUCE, HCCL_CMD_BROADCAST, HCCL_CMD_REDUCE, HCCL_CMD_ALLGATHER,
          HCCL_CMD_REDUCE_SCATTER, HCCL_CMD_SCATTER, HCCL_CMD_ALLTOALL}) {
      list.push_back({type, std::string(toString(plan::algoOpOf(type)))});
    }
    return list;
  }();
  return all;
}

std::optional<Operation> findOperation(const std::string& name) {
  for (const Operation& op : allOperations()) {
    if (name == op.token || name == plan::opName(op.type)) return op;
  }
  return std::nullopt;
}

uint64_t countFor(const Operation& op, uint64_t bytes, uint32_t ranks) {
  const uint64_t parts = plan::isVectorOp(op.type) ? 1 : ranks;
  return std::max<uint64_t>(1, bytes / sizeof(float) / parts);
}

uint64_t bytesFor(const Operation& op, uint64_t count, uint32_t ranks) {
  return count * sizeof(float) * (plan::isVectorOp(op.type) ? 1 : ranks);
}

void call(const Operation& op, float* in, float* out, uint64_t count, HcclComm comm,
          aclrtStream stream) {
  switch (op.type) {
    case HCCL_CMD_BROADCAST:
      HCCL_TUNE_MUST(HcclBroadcast(in, count, kType, 0, comm, stream));
      return;
    case HCCL_CMD_REDUCE:
      HCCL_TUNE_MUST(HcclReduce(in, out, count, kType, HCCL_REDUCE_SUM, 0, comm, stream));
      return;
    case HCCL_CMD_ALLGATHER:
      HCCL_TUNE_MUST(HcclAllGather(in, out, count, kType, comm, stream));
      return;
    case HCCL_CMD_REDUCE_SCATTER:
      HCCL_TUNE_MUST(HcclReduceScatter(in, out, count, kType, HCCL_REDUCE_SUM, comm, stream));
      return;
    case HCCL_CMD_SCATTER:
      HCCL_TUNE_MUST(HcclScatter(in, out, count, kType, 0, comm, stream));
      return;
    case HCCL_CMD_ALLTOALL:
      HCCL_TUNE_MUST(HcclAlltoAll(in, count, kType, out, count, kType, comm, stream));
      return;
    default:
      HCCL_TUNE_MUST(HcclAllReduce(in, out, count, kType, HCCL_REDUCE_SUM, comm, stream));
  }
}

}  // namespace hccl::tune
