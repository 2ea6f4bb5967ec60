#include "src/plan/op.h"

namespace hccl::plan {

const char* opName(HcclCMDType type) {
  switch (type) {
    case HCCL_CMD_BROADCAST:
      return "Broadcast";
    case HCCL_CMD_ALLREDUCE:
      return "AllReduce";
    case HCCL_CMD_REDUCE:
      return "Reduce";
    case HCCL_CMD_SEND:
      return "Send";
    case HCCL_CMD_RECEIVE:
      return "Receive";
    case HCCL_CMD_ALLGATHER:
      return "AllGather";
    case HCCL_CMD_REDUCE_SCATTER:
      return "ReduceScatter";
    case HCCL_CMD_ALLTOALLV:
      return "AlltoAllV";
    case HCCL_CMD_ALLTOALLVC:
      return "AlltoAllVC";
    case HCCL_CMD_ALLTOALL:
      return "AlltoAll";
    case HCCL_CMD_GATHER:
      return "Gather";
    case HCCL_CMD_SCATTER:
      return "Scatter";
    case HCCL_CMD_BATCH_SEND_RECV:
      return "BatchSendRecv";
    case HCCL_CMD_ALLGATHER_V:
      return "AllGatherV";
    case HCCL_CMD_REDUCE_SCATTER_V:
      return "ReduceScatterV";
    case HCCL_CMD_BARRIER:
      return "Barrier";
    default:
      return "Unknown";
  }
}

}  // namespace hccl::plan
