// Send, Recv and BatchSendRecv.
#include <fmt/core.h>

#include <vector>

#include "src/api/api.h"
#include "src/api/operation.h"

namespace hccl::api {
namespace {

struct TransferCall {
  const char* op;
  const char* bufferName;
  const char* peerName;
  bool isSend;
};

Status transfer(const TransferCall& names, void* buffer, uint64_t count, HcclDataType dataType,
                uint32_t peer, HcclComm comm, aclrtStream stream) {
  const char* op = names.op;
  if (count == 0) {  // both ends pass the same count
    HCCL_WARNING("{}: the count is 0, nothing is done", op);
    return Status::ok();
  }
  HCCL_RETURN_IF_ERROR(
      checkPointers(op, {{stream, "stream"}, {comm, "comm"}, {buffer, names.bufferName}}));
  Target target;
  HCCL_RETURN_IF_ERROR(findTarget(op, comm, stream, &target));
  HCCL_RETURN_IF_ERROR(checkCount(op, count, "count"));
  HCCL_RETURN_IF_ERROR(checkType(dataType));
  HCCL_RETURN_IF_ERROR(checkRank(op, peer, target.comm->size(), names.peerName));
  const uint32_t rank = target.comm->rank();
  if (peer == rank) {
    return argumentError(HCCL_E_NOT_SUPPORT, op, std::to_string(peer), names.peerName,
                         "a rank other than the caller's");
  }
  if (env().entryLogEnabled) {
    HCCL_RUN_INFO(
        "Entry-{}:tag[{}_{}_{}], {}[{}], count[{}], dataType[{}], {}[{}], streamId[{}], "
        "deviceLogicId[{}]",
        op, target.comm->name(), names.isSend ? rank : peer, names.isSend ? peer : rank,
        names.bufferName, buffer, count, nameOf(dataType), names.peerName, peer,
        runtime::streamId(target.stream), target.comm->device());
  }
  executor::TransferItem item;
  item.send = names.isSend;
  item.peer = peer;
  item.buffer = static_cast<std::byte*>(buffer);
  item.count = count;
  item.dataType = dataType;
  if (group::isOpen()) return group::addTransfer(target.comm, item, stream);
  thread_local std::vector<executor::TransferItem> items;
  items.assign(1, item);
  return target.comm->transfers(items, target.stream);
}

Status itemOf(const HcclSendRecvItem& item, uint32_t size, executor::TransferItem* out) {
  constexpr const char* kOp = "HcclBatchSendRecv";
  const auto kind = static_cast<uint32_t>(item.sendRecvType);
  if (kind != HCCL_SEND && kind != HCCL_RECV) {
    return argumentError(HCCL_E_PARA, kOp, std::to_string(kind), "sendRecvType",
                         "HCCL_SEND or HCCL_RECV");
  }
  HCCL_RETURN_IF_ERROR(checkCount(kOp, item.count, "count"));
  HCCL_RETURN_IF_ERROR(checkType(item.dataType));
  HCCL_RETURN_IF_ERROR(checkRank(kOp, item.remoteRank, size, "remoteRank"));
  if (item.count != 0) HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{item.buf, "buf"}}));
  out->send = kind == HCCL_SEND;
  out->peer = item.remoteRank;
  out->buffer = static_cast<std::byte*>(item.buf);
  out->count = item.count;
  out->dataType = item.dataType;
  return Status::ok();
}

}  // namespace

HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
                    HcclComm comm, aclrtStream stream) {
  return groupEntry([&] {
    return transfer({"HcclSend", "sendBuf", "destRank", true}, sendBuf, count, dataType, destRank,
                    comm, stream);
  });
}

HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                    HcclComm comm, aclrtStream stream) {
  return groupEntry([&] {
    return transfer({"HcclRecv", "recvBuf", "srcRank", false}, recvBuf, count, dataType, srcRank,
                    comm, stream);
  });
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm,
                             aclrtStream stream) {
  return entry([&]() -> Status {
    constexpr const char* kOp = "HcclBatchSendRecv";
    if (group::isOpen()) return group::refuseBatch();
    if (itemNum == 0) {
      HCCL_WARNING("{}: there are no items, nothing is done", kOp);
      return Status::ok();
    }
    HCCL_RETURN_IF_ERROR(
        checkPointers(kOp, {{stream, "stream"}, {comm, "comm"}, {sendRecvInfo, "sendRecvInfo"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    thread_local std::vector<executor::TransferItem> items;
    items.clear();
    for (uint32_t i = 0; i < itemNum; ++i) {
      executor::TransferItem item;
      HCCL_RETURN_IF_ERROR(itemOf(sendRecvInfo[i], target.comm->size(), &item));
      if (item.count != 0) items.push_back(item);  // the other end drops its empty ones, too
    }
    logEntry(kOp, "BatchSendRecv", target, "sendRecvInfo[{}], itemNum[{}]",
             static_cast<const void*>(sendRecvInfo), itemNum);
    if (items.empty()) return Status::ok();
    return target.comm->transfers(items, target.stream);
  });
}

}  // namespace hccl::api
