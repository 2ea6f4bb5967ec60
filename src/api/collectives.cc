// Collectives with one count: AllReduce, Reduce, ReduceScatter, AllGather, Broadcast, Scatter, and
// Barrier. Check order: count 0, NULL pointers, handles, ranks, counts, types.
#include "src/api/api.h"
#include "src/api/operation.h"

namespace hccl::api {
namespace {

// Every rank passes the same count, so all of them leave here.
Status nothingToDo(const char* op) {
  HCCL_WARNING("{}: the count is 0, nothing is done", op);
  return Status::ok();
}

}  // namespace

HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                         HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclAllReduce";
    if (count == 0) return nothingToDo(kOp);
    HCCL_RETURN_IF_ERROR(checkPointers(
        kOp, {{stream, "stream"}, {comm, "comm"}, {sendBuf, "sendBuf"}, {recvBuf, "recvBuf"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    HCCL_RETURN_IF_ERROR(checkCount(kOp, count, "count"));
    HCCL_RETURN_IF_ERROR(checkReduction(dataType, op));
    logEntry(kOp, "AllReduce", target,
             "sendBuf[{}], recvBuf[{}], count[{}], dataType[{}], reduceOp[{}]", sendBuf, recvBuf,
             count, nameOf(dataType), nameOf(op));
    CollectiveCall call;
    call.type = HCCL_CMD_ALLREDUCE;
    call.send = sendBuf;
    call.recv = recvBuf;
    call.count = count;
    call.dataType = dataType;
    call.reduceOp = op;
    return run(target, call);
  });
}

HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                      HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclReduce";
    if (count == 0) return nothingToDo(kOp);
    HCCL_RETURN_IF_ERROR(checkPointers(
        kOp, {{stream, "stream"}, {comm, "comm"}, {sendBuf, "sendBuf"}, {recvBuf, "recvBuf"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    HCCL_RETURN_IF_ERROR(checkCount(kOp, count, "count"));
    HCCL_RETURN_IF_ERROR(checkReduction(dataType, op));
    HCCL_RETURN_IF_ERROR(checkRank(kOp, root, target.comm->size(), "root"));
    logEntry(kOp, "Reduce", target,
             "sendBuf[{}], recvBuf[{}], count[{}], dataType[{}], reduceOp[{}], root[{}]", sendBuf,
             recvBuf, count, nameOf(dataType), nameOf(op), root);
    CollectiveCall call;
    call.type = HCCL_CMD_REDUCE;
    call.send = sendBuf;
    call.recv = recvBuf;
    call.count = count;
    call.dataType = dataType;
    call.reduceOp = op;
    call.root = root;
    return run(target, call);
  });
}

HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount,
                             HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                             aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclReduceScatter";
    if (recvCount == 0) return nothingToDo(kOp);
    HCCL_RETURN_IF_ERROR(checkPointers(
        kOp, {{stream, "stream"}, {comm, "comm"}, {sendBuf, "sendBuf"}, {recvBuf, "recvBuf"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    HCCL_RETURN_IF_ERROR(checkCount(kOp, recvCount, "recvCount"));
    HCCL_RETURN_IF_ERROR(checkReduction(dataType, op));
    logEntry(kOp, "ReduceScatter", target,
             "sendBuf[{}], recvBuf[{}], count[{}], dataType[{}], reduceOp[{}]", sendBuf, recvBuf,
             recvCount, nameOf(dataType), nameOf(op));
    CollectiveCall call;
    call.type = HCCL_CMD_REDUCE_SCATTER;
    call.send = sendBuf;
    call.recv = recvBuf;
    call.count = recvCount;
    call.dataType = dataType;
    call.reduceOp = op;
    return run(target, call);
  });
}

HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType,
                         HcclComm comm, aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclAllGather";
    if (sendCount == 0) return nothingToDo(kOp);
    HCCL_RETURN_IF_ERROR(checkPointers(
        kOp, {{stream, "stream"}, {comm, "comm"}, {sendBuf, "sendBuf"}, {recvBuf, "recvBuf"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    HCCL_RETURN_IF_ERROR(checkCount(kOp, sendCount, "sendCount"));
    HCCL_RETURN_IF_ERROR(checkType(dataType));
    logEntry(kOp, "AllGather", target, "sendBuf[{}], recvBuf[{}], sendCount[{}], dataType[{}]",
             sendBuf, recvBuf, sendCount, nameOf(dataType));
    CollectiveCall call;
    call.type = HCCL_CMD_ALLGATHER;
    call.send = sendBuf;
    call.recv = recvBuf;
    call.count = sendCount;
    call.dataType = dataType;
    return run(target, call);
  });
}

HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root,
                         HcclComm comm, aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclBroadcast";
    if (count == 0) return nothingToDo(kOp);
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{stream, "stream"}, {comm, "comm"}, {buf, "buf"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    HCCL_RETURN_IF_ERROR(checkCount(kOp, count, "count"));
    HCCL_RETURN_IF_ERROR(checkType(dataType));
    HCCL_RETURN_IF_ERROR(checkRank(kOp, root, target.comm->size(), "root"));
    logEntry(kOp, "Broadcast", target, "buf[{}], count[{}], dataType[{}], root[{}]", buf, count,
             nameOf(dataType), root);
    CollectiveCall call;
    call.type = HCCL_CMD_BROADCAST;
    call.send = buf;
    call.recv = buf;
    call.count = count;
    call.dataType = dataType;
    call.root = root;
    return run(target, call);
  });
}

HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                       uint32_t root, HcclComm comm, aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclScatter";
    if (recvCount == 0) return nothingToDo(kOp);
    HCCL_RETURN_IF_ERROR(
        checkPointers(kOp, {{stream, "stream"}, {comm, "comm"}, {recvBuf, "recvBuf"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    HCCL_RETURN_IF_ERROR(checkCount(kOp, recvCount, "recvCount"));
    HCCL_RETURN_IF_ERROR(checkType(dataType));
    HCCL_RETURN_IF_ERROR(checkRank(kOp, root, target.comm->size(), "root"));
    if (target.comm->rank() == root) {
      HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{sendBuf, "sendBuf"}}));
    }
    logEntry(kOp, "Scatter", target,
             "sendBuf[{}], recvBuf[{}], recvCount[{}], dataType[{}], root[{}]", sendBuf, recvBuf,
             recvCount, nameOf(dataType), root);
    CollectiveCall call;
    call.type = HCCL_CMD_SCATTER;
    call.send = sendBuf;
    call.recv = recvBuf;
    call.count = recvCount;
    call.dataType = dataType;
    call.root = root;
    return run(target, call);
  });
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclBarrier";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{stream, "stream"}, {comm, "comm"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    logEntry(kOp, "Barrier", target, "rank[{}]", target.comm->rank());
    CollectiveCall call;
    call.type = HCCL_CMD_BARRIER;
    call.dataType = HCCL_DATA_TYPE_INT8;
    return run(target, call);
  });
}

}  // namespace hccl::api
