// ReduceScatterV, AllGatherV and the AlltoAll family: operations whose parts may differ in size.
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "src/api/api.h"
#include "src/api/operation.h"

namespace hccl::api {
namespace {

// Elements from a buffer's start at which a part may begin: far beyond any memory, small enough
// that no sum or product overflows.
constexpr uint64_t kMaxDisplacement = 1ULL << 56;

const uint64_t* counts(const void* array) {
  return static_cast<const uint64_t*>(array);
}

bool allZero(const uint64_t* values, size_t n) {
  return std::all_of(values, values + n, [](uint64_t value) { return value == 0; });
}

Status checkParts(const char* op, const uint64_t* partCounts, const uint64_t* displs, uint32_t n,
                  const char* countsName, const char* displsName) {
  for (uint32_t i = 0; i < n; ++i) {
    HCCL_RETURN_IF_ERROR(checkCount(op, partCounts[i], countsName));
    if (displs[i] <= kMaxDisplacement) continue;
    return argumentError(HCCL_E_PARA, op, std::to_string(displs[i]), displsName,
                         fmt::format("less than or equal to {}", kMaxDisplacement));
  }
  return Status::ok();
}

Status checkNotInPlace(const char* op, const void* send, const void* recv) {
  if (send != recv || send == nullptr) return Status::ok();
  return argumentError(HCCL_E_PARA, op, fmt::format("{}", recv), "recvBuf",
                       "a buffer other than sendBuf");
}

Status checkEqualTypes(const char* op, HcclDataType sendType, HcclDataType recvType) {
  HCCL_RETURN_IF_ERROR(checkType(sendType));
  if (sendType == recvType) return Status::ok();
  return argumentError(HCCL_E_PARA, op,
                       std::to_string(static_cast<uint32_t>(recvType)) + " (enum value)",
                       "recvType", fmt::format("the sendType {}", nameOf(sendType)));
}

// A buffer may be NULL when nothing is in it.
Status checkBuffer(const char* op, const void* buffer, const char* name, bool isUsed) {
  return isUsed && buffer == nullptr ? nullPointerError(op, name) : Status::ok();
}

Status checkOwnCount(const char* op, uint64_t count, uint64_t listed, const char* name) {
  if (count == listed) return Status::ok();
  return argumentError(HCCL_E_PARA, op, std::to_string(count), name,
                       fmt::format("{}, the caller's entry in the array of counts", listed));
}

}  // namespace

HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls,
                              void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                              HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclReduceScatterV";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{stream, "stream"},
                                             {comm, "comm"},
                                             {sendCounts, "sendCounts"},
                                             {sendDispls, "sendDispls"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    const uint32_t n = target.comm->size();
    // The array is equal on all ranks, so all of them leave here.
    if (allZero(counts(sendCounts), n)) return Status::ok();
    HCCL_RETURN_IF_ERROR(checkBuffer(kOp, sendBuf, "sendBuf", true));
    HCCL_RETURN_IF_ERROR(checkBuffer(kOp, recvBuf, "recvBuf", recvCount != 0));
    HCCL_RETURN_IF_ERROR(checkNotInPlace(kOp, sendBuf, recvBuf));
    HCCL_RETURN_IF_ERROR(
        checkParts(kOp, counts(sendCounts), counts(sendDispls), n, "sendCounts", "sendDispls"));
    HCCL_RETURN_IF_ERROR(
        checkOwnCount(kOp, recvCount, counts(sendCounts)[target.comm->rank()], "recvCount"));
    HCCL_RETURN_IF_ERROR(checkReduction(dataType, op));
    logEntry(kOp, "ReduceScatterV", target,
             "sendBuf[{}], sendCounts[{}], sendDispls[{}], recvBuf[{}], recvCount[{}], "
             "dataType[{}], reduceOp[{}]",
             sendBuf, sendCounts, sendDispls, recvBuf, recvCount, nameOf(dataType), nameOf(op));
    CollectiveCall call;
    call.type = HCCL_CMD_REDUCE_SCATTER_V;
    call.send = sendBuf;
    call.recv = recvBuf;
    call.dataType = dataType;
    call.reduceOp = op;
    call.sendCounts = counts(sendCounts);
    call.sendDispls = counts(sendDispls);
    return run(target, call);
  });
}

HcclResult HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf, const void* recvCounts,
                          const void* recvDispls, HcclDataType dataType, HcclComm comm,
                          aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclAllGatherV";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{stream, "stream"},
                                             {comm, "comm"},
                                             {recvCounts, "recvCounts"},
                                             {recvDispls, "recvDispls"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    const uint32_t n = target.comm->size();
    // The array is equal on all ranks, so all of them leave here.
    if (allZero(counts(recvCounts), n)) return Status::ok();
    HCCL_RETURN_IF_ERROR(checkBuffer(kOp, sendBuf, "sendBuf", sendCount != 0));
    HCCL_RETURN_IF_ERROR(checkBuffer(kOp, recvBuf, "recvBuf", true));
    HCCL_RETURN_IF_ERROR(checkNotInPlace(kOp, sendBuf, recvBuf));
    HCCL_RETURN_IF_ERROR(
        checkParts(kOp, counts(recvCounts), counts(recvDispls), n, "recvCounts", "recvDispls"));
    HCCL_RETURN_IF_ERROR(
        checkOwnCount(kOp, sendCount, counts(recvCounts)[target.comm->rank()], "sendCount"));
    HCCL_RETURN_IF_ERROR(checkType(dataType));
    logEntry(kOp, "AllGatherV", target,
             "sendBuf[{}], sendCount[{}], recvBuf[{}], recvCounts[{}], recvDispls[{}], "
             "dataType[{}]",
             sendBuf, sendCount, recvBuf, recvCounts, recvDispls, nameOf(dataType));
    CollectiveCall call;
    call.type = HCCL_CMD_ALLGATHER_V;
    call.send = sendBuf;
    call.recv = recvBuf;
    call.dataType = dataType;
    call.recvCounts = counts(recvCounts);
    call.recvDispls = counts(recvDispls);
    return run(target, call);
  });
}

HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType,
                        const void* recvBuf, uint64_t recvCount, HcclDataType recvType,
                        HcclComm comm, aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclAlltoAll";
    if (sendCount == 0 && recvCount == 0) {
      HCCL_WARNING("{}: the counts are 0, nothing is done", kOp);
      return Status::ok();
    }
    HCCL_RETURN_IF_ERROR(checkPointers(
        kOp, {{stream, "stream"}, {comm, "comm"}, {sendBuf, "sendBuf"}, {recvBuf, "recvBuf"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    if (sendCount != recvCount) {
      return argumentError(HCCL_E_PARA, kOp, std::to_string(recvCount), "recvCount",
                           fmt::format("the sendCount {}", sendCount));
    }
    HCCL_RETURN_IF_ERROR(checkCount(kOp, sendCount, "sendCount"));
    HCCL_RETURN_IF_ERROR(checkEqualTypes(kOp, sendType, recvType));
    HCCL_RETURN_IF_ERROR(checkNotInPlace(kOp, sendBuf, recvBuf));
    logEntry(kOp, "ALLTOALL", target,
             "sendBuf[{}], sendCount[{}], sendType[{}], recvBuf[{}], recvCount[{}], recvType[{}]",
             sendBuf, sendCount, nameOf(sendType), recvBuf, recvCount, nameOf(recvType));
    CollectiveCall call;
    call.type = HCCL_CMD_ALLTOALL;
    call.send = sendBuf;
    call.recv = const_cast<void*>(recvBuf);
    call.count = sendCount;
    call.dataType = sendType;
    return run(target, call);
  });
}

HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls,
                         HcclDataType sendType, const void* recvBuf, const void* recvCounts,
                         const void* rdispls, HcclDataType recvType, HcclComm comm,
                         aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclAlltoAllV";
    HCCL_RETURN_IF_ERROR(checkPointers(kOp, {{stream, "stream"},
                                             {comm, "comm"},
                                             {sendCounts, "sendCounts"},
                                             {sdispls, "sdispls"},
                                             {recvCounts, "recvCounts"},
                                             {rdispls, "rdispls"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    const uint32_t n = target.comm->size();
    const uint32_t rank = target.comm->rank();
    const bool sends = !allZero(counts(sendCounts), n);
    const bool receives = !allZero(counts(recvCounts), n);
    // A rank that neither sends nor receives cannot know whether all are like that, and every pair
    // exchanges a first contact: leaving here would let the others wait. It takes part with empty
    // parts instead.
    if (n == 1 && !sends && !receives) return Status::ok();
    HCCL_RETURN_IF_ERROR(checkBuffer(kOp, sendBuf, "sendBuf", sends));
    HCCL_RETURN_IF_ERROR(checkBuffer(kOp, recvBuf, "recvBuf", receives));
    HCCL_RETURN_IF_ERROR(checkNotInPlace(kOp, sendBuf, recvBuf));
    HCCL_RETURN_IF_ERROR(
        checkParts(kOp, counts(sendCounts), counts(sdispls), n, "sendCounts", "sdispls"));
    HCCL_RETURN_IF_ERROR(
        checkParts(kOp, counts(recvCounts), counts(rdispls), n, "recvCounts", "rdispls"));
    HCCL_RETURN_IF_ERROR(
        checkOwnCount(kOp, counts(recvCounts)[rank], counts(sendCounts)[rank], "recvCounts[rank]"));
    HCCL_RETURN_IF_ERROR(checkEqualTypes(kOp, sendType, recvType));
    logEntry(kOp, "ALLTOALLV", target,
             "sendBuf[{}], sendCounts[{}], sdispls[{}], sendType[{}], recvBuf[{}], "
             "recvCounts[{}], rdispls[{}], recvType[{}]",
             sendBuf, sendCounts, sdispls, nameOf(sendType), recvBuf, recvCounts, rdispls,
             nameOf(recvType));
    CollectiveCall call;
    call.type = HCCL_CMD_ALLTOALLV;
    call.send = sendBuf;
    call.recv = const_cast<void*>(recvBuf);
    call.dataType = sendType;
    call.sendCounts = counts(sendCounts);
    call.sendDispls = counts(sdispls);
    call.recvCounts = counts(recvCounts);
    call.recvDispls = counts(rdispls);
    return run(target, call);
  });
}

HcclResult HcclAlltoAllVC(const void* sendBuf, const void* sendCountMatrix, HcclDataType sendType,
                          const void* recvBuf, HcclDataType recvType, HcclComm comm,
                          aclrtStream stream) {
  return groupEntry([&]() -> Status {
    constexpr const char* kOp = "HcclAlltoAllVC";
    HCCL_RETURN_IF_ERROR(checkPointers(
        kOp, {{stream, "stream"}, {comm, "comm"}, {sendCountMatrix, "sendCountMatrix"}}));
    Target target;
    HCCL_RETURN_IF_ERROR(findTarget(kOp, comm, stream, &target));
    const size_t n = target.comm->size();
    const uint32_t rank = target.comm->rank();
    const uint64_t* matrix = counts(sendCountMatrix);
    // The matrix is equal on all ranks, so all of them leave here.
    if (allZero(matrix, n * n)) return Status::ok();
    for (size_t i = 0; i < n * n; ++i) {
      HCCL_RETURN_IF_ERROR(checkCount(kOp, matrix[i], "sendCountMatrix"));
    }
    // This rank's row and column, packed. Kept by the thread, so that a repeated call allocates
    // nothing.
    thread_local std::vector<uint64_t> parts;
    parts.resize(4 * n);
    uint64_t* const sendCounts = parts.data();
    uint64_t* const sendDispls = sendCounts + n;
    uint64_t* const recvCounts = sendDispls + n;
    uint64_t* const recvDispls = recvCounts + n;
    uint64_t sent = 0;
    uint64_t received = 0;
    for (size_t peer = 0; peer < n; ++peer) {
      sendCounts[peer] = matrix[rank * n + peer];
      recvCounts[peer] = matrix[peer * n + rank];
      sendDispls[peer] = sent;
      recvDispls[peer] = received;
      sent += sendCounts[peer];
      received += recvCounts[peer];
    }
    HCCL_RETURN_IF_ERROR(checkBuffer(kOp, sendBuf, "sendBuf", sent != 0));
    HCCL_RETURN_IF_ERROR(checkBuffer(kOp, recvBuf, "recvBuf", received != 0));
    HCCL_RETURN_IF_ERROR(checkNotInPlace(kOp, sendBuf, recvBuf));
    HCCL_RETURN_IF_ERROR(checkEqualTypes(kOp, sendType, recvType));
    logEntry(kOp, "ALLTOALLVC", target,
             "sendBuf[{}], sendCountMatrix[{}], sendType[{}], recvBuf[{}], recvType[{}]", sendBuf,
             sendCountMatrix, nameOf(sendType), recvBuf, nameOf(recvType));
    CollectiveCall call;
    call.type = HCCL_CMD_ALLTOALLVC;
    call.send = sendBuf;
    call.recv = const_cast<void*>(recvBuf);
    call.dataType = sendType;
    call.sendCounts = sendCounts;
    call.sendDispls = sendDispls;
    call.recvCounts = recvCounts;
    call.recvDispls = recvDispls;
    return run(target, call);
  });
}

}  // namespace hccl::api
