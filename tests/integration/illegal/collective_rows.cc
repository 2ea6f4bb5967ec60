// The rules of the collectives.
#include "tests/integration/illegal/rows.h"

namespace hccl::multirank {
namespace {

constexpr auto kF32 = HCCL_DATA_TYPE_FP32;
constexpr auto kSum = HCCL_REDUCE_SUM;
constexpr uint64_t kTooMany = 0x7FFFFFFFFULL + 1;

void* const unknown = reinterpret_cast<void*>(0x1234567);

std::vector<std::string> nullText(const char* op, const char* parameter) {
  return {"EI0003", op, parameter, "nullptr", "non-null pointer"};
}

void append(std::vector<Row>& all, std::vector<Row> more) {
  for (Row& row : more) all.push_back(std::move(row));
}

std::vector<Row> allReduceRows() {
  const auto ar = [](World& w, void* s, void* r, uint64_t n, HcclDataType t, HcclReduceOp o) {
    return HcclAllReduce(s, r, n, t, o, w.comm, w.stream);
  };
  return {
      {"AllReduce without stream",
       [](World& w) { return HcclAllReduce(w.a, w.b, 1, kF32, kSum, w.comm, nullptr); }, HCCL_E_PTR,
       nullText("HcclAllReduce", "stream")},
      {"AllReduce without communicator",
       [](World& w) { return HcclAllReduce(w.a, w.b, 1, kF32, kSum, nullptr, w.stream); },
       HCCL_E_PTR, nullText("HcclAllReduce", "comm")},
      {"AllReduce without input", [=](World& w) { return ar(w, nullptr, w.b, 1, kF32, kSum); },
       HCCL_E_PTR, nullText("HcclAllReduce", "sendBuf")},
      {"AllReduce without output", [=](World& w) { return ar(w, w.a, nullptr, 1, kF32, kSum); },
       HCCL_E_PTR, nullText("HcclAllReduce", "recvBuf")},
      {"AllReduce with nothing at all: the stream is checked first",
       [](World&) { return HcclAllReduce(nullptr, nullptr, 1, kF32, kSum, nullptr, nullptr); },
       HCCL_E_PTR, nullText("HcclAllReduce", "stream")},
      {"AllReduce of nothing: nothing is checked",
       [](World&) { return HcclAllReduce(nullptr, nullptr, 0, kF32, kSum, nullptr, nullptr); },
       HCCL_SUCCESS,
       {}},
      {"AllReduce of too many",
       [=](World& w) { return ar(w, w.a, w.b, kTooMany, kF32, kSum); },
       HCCL_E_PARA,
       {"EI0003", "count", "34359738368"}},
      {"AllReduce of int128",
       [=](World& w) { return ar(w, w.a, w.b, 1, HCCL_DATA_TYPE_INT128, kSum); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "DataType"}},
      {"AllReduce of a type that is none",
       [=](World& w) { return ar(w, w.a, w.b, 1, HCCL_DATA_TYPE_RESERVED, kSum); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "DataType"}},
      {"AllReduce of uint8",
       [=](World& w) { return ar(w, w.a, w.b, 1, HCCL_DATA_TYPE_UINT8, kSum); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckReduceDataType"}},
      {"AllReduce of uint16",
       [=](World& w) { return ar(w, w.a, w.b, 1, HCCL_DATA_TYPE_UINT16, kSum); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckReduceDataType"}},
      {"AllReduce of uint32",
       [=](World& w) { return ar(w, w.a, w.b, 1, HCCL_DATA_TYPE_UINT32, kSum); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckReduceDataType"}},
      {"AllReduce of fp8",
       [=](World& w) { return ar(w, w.a, w.b, 1, HCCL_DATA_TYPE_FP8E4M3, kSum); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckReduceDataType"}},
      {"product of int16",
       [=](World& w) { return ar(w, w.a, w.b, 1, HCCL_DATA_TYPE_INT16, HCCL_REDUCE_PROD); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckReduceDataType"}},
      {"product of bfp16",
       [=](World& w) { return ar(w, w.a, w.b, 1, HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_PROD); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckReduceDataType"}},
      {"AllReduce with an operation that is none",
       [=](World& w) { return ar(w, w.a, w.b, 1, kF32, HCCL_REDUCE_RESERVED); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckReduceDataType"}},
      {"AllReduce with partly overlapping buffers",
       [=](World& w) { return ar(w, w.a, w.a + 4, 100, kF32, kSum); },
       HCCL_E_PARA,
       {"EI0003"}},
      {"AllReduce with partly overlapping buffers, the output first",
       [=](World& w) { return ar(w, w.a + 396, w.a, 100, kF32, kSum); },
       HCCL_E_PARA,
       {"EI0003"}},
      {"AllReduce on a destroyed communicator",
       [](World& w) { return HcclAllReduce(w.a, w.b, 1, kF32, kSum, w.dead, w.stream); },
       HCCL_E_PARA,
       {"EI0003", "comm"}},
      {"AllReduce on an unknown communicator",
       [](World& w) { return HcclAllReduce(w.a, w.b, 1, kF32, kSum, unknown, w.stream); },
       HCCL_E_PARA,
       {"EI0003", "comm"}},
      {"AllReduce on an unknown stream",
       [](World& w) { return HcclAllReduce(w.a, w.b, 1, kF32, kSum, w.comm, unknown); },
       HCCL_E_PARA,
       {"EI0003", "stream"}},
  };
}

std::vector<Row> rootedRows() {
  return {
      {"Reduce to no rank",
       [](World& w) { return HcclReduce(w.a, w.b, 1, kF32, kSum, w.ranks, w.comm, w.stream); },
       HCCL_E_PARA,
       {"EI0003", "HcclReduce", "root"}},
      {"Reduce without output",
       [](World& w) { return HcclReduce(w.a, nullptr, 1, kF32, kSum, 0, w.comm, w.stream); },
       HCCL_E_PTR, nullText("HcclReduce", "recvBuf")},
      {"Reduce of uint8",
       [](World& w) {
         return HcclReduce(w.a, w.b, 1, HCCL_DATA_TYPE_UINT8, kSum, 0, w.comm, w.stream);
       },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckReduceDataType"}},
      {"Reduce of nothing",
       [](World&) { return HcclReduce(nullptr, nullptr, 0, kF32, kSum, 99, nullptr, nullptr); },
       HCCL_SUCCESS,
       {}},
      {"Broadcast from no rank",
       [](World& w) { return HcclBroadcast(w.a, 1, kF32, w.ranks, w.comm, w.stream); },
       HCCL_E_PARA,
       {"EI0003", "HcclBroadcast", "root"}},
      {"Broadcast without buffer",
       [](World& w) { return HcclBroadcast(nullptr, 1, kF32, 0, w.comm, w.stream); }, HCCL_E_PTR,
       nullText("HcclBroadcast", "buf")},
      {"Broadcast without stream",
       [](World& w) { return HcclBroadcast(w.a, 1, kF32, 0, w.comm, nullptr); }, HCCL_E_PTR,
       nullText("HcclBroadcast", "stream")},
      {"Broadcast of int128",
       [](World& w) { return HcclBroadcast(w.a, 1, HCCL_DATA_TYPE_INT128, 0, w.comm, w.stream); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckDataType"}},
      {"Broadcast of the unused type 13",
       [](World& w) {
         return HcclBroadcast(w.a, 1, static_cast<HcclDataType>(13), 0, w.comm, w.stream);
       },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckDataType"}},
      {"Broadcast of too many",
       [](World& w) { return HcclBroadcast(w.a, kTooMany, kF32, 0, w.comm, w.stream); },
       HCCL_E_PARA,
       {"EI0003", "count"}},
      {"Scatter from no rank",
       [](World& w) { return HcclScatter(w.a, w.b, 1, kF32, w.ranks, w.comm, w.stream); },
       HCCL_E_PARA,
       {"EI0003", "HcclScatter", "root"}},
      {"Scatter without the root's input",
       [](World& w) { return HcclScatter(nullptr, w.b, 1, kF32, w.rank, w.comm, w.stream); },
       HCCL_E_PTR, nullText("HcclScatter", "sendBuf")},
      {"Scatter without output",
       [](World& w) { return HcclScatter(w.a, nullptr, 1, kF32, 0, w.comm, w.stream); }, HCCL_E_PTR,
       nullText("HcclScatter", "recvBuf")},
  };
}

std::vector<Row> blockRows() {
  return {
      {"ReduceScatter of nothing",
       [](World&) { return HcclReduceScatter(nullptr, nullptr, 0, kF32, kSum, nullptr, nullptr); },
       HCCL_SUCCESS,
       {}},
      {"ReduceScatter without communicator",
       [](World& w) { return HcclReduceScatter(w.a, w.b, 1, kF32, kSum, nullptr, w.stream); },
       HCCL_E_PTR, nullText("HcclReduceScatter", "comm")},
      {"AllGather without output",
       [](World& w) { return HcclAllGather(w.a, nullptr, 1, kF32, w.comm, w.stream); }, HCCL_E_PTR,
       nullText("HcclAllGather", "recvBuf")},
      {"AllGather of too many",
       [](World& w) { return HcclAllGather(w.a, w.b, kTooMany, kF32, w.comm, w.stream); },
       HCCL_E_PARA,
       {"EI0003", "sendCount"}},
      {"ReduceScatterV in place",
       [](World& w) {
         return HcclReduceScatterV(w.a, w.ones.data(), w.displs.data(), w.a, 1, kF32, kSum, w.comm,
                                   w.stream);
       },
       HCCL_E_PARA,
       {"EI0003", "recvBuf"}},
      {"ReduceScatterV without counts",
       [](World& w) {
         return HcclReduceScatterV(w.a, nullptr, w.displs.data(), w.b, 1, kF32, kSum, w.comm,
                                   w.stream);
       },
       HCCL_E_PTR, nullText("HcclReduceScatterV", "sendCounts")},
      {"ReduceScatterV with another own count",
       [](World& w) {
         return HcclReduceScatterV(w.a, w.ones.data(), w.displs.data(), w.b, 2, kF32, kSum, w.comm,
                                   w.stream);
       },
       HCCL_E_PARA,
       {"EI0003", "recvCount"}},
      {"ReduceScatterV of nothing",
       [](World& w) {
         return HcclReduceScatterV(nullptr, w.none.data(), w.displs.data(), nullptr, 0, kF32, kSum,
                                   w.comm, w.stream);
       },
       HCCL_SUCCESS,
       {}},
      {"AllGatherV in place",
       [](World& w) {
         return HcclAllGatherV(w.a, 1, w.a, w.ones.data(), w.displs.data(), kF32, w.comm, w.stream);
       },
       HCCL_E_PARA,
       {"EI0003", "recvBuf"}},
      {"AllGatherV without displacements",
       [](World& w) {
         return HcclAllGatherV(w.a, 1, w.b, w.ones.data(), nullptr, kF32, w.comm, w.stream);
       },
       HCCL_E_PTR, nullText("HcclAllGatherV", "recvDispls")},
      {"AllGatherV with another own count",
       [](World& w) {
         return HcclAllGatherV(w.a, 3, w.b, w.ones.data(), w.displs.data(), kF32, w.comm, w.stream);
       },
       HCCL_E_PARA,
       {"EI0003", "sendCount"}},
      {"AllGatherV of nothing",
       [](World& w) {
         return HcclAllGatherV(nullptr, 0, nullptr, w.none.data(), w.displs.data(), kF32, w.comm,
                               w.stream);
       },
       HCCL_SUCCESS,
       {}},
  };
}

std::vector<Row> allToAllRows() {
  return {
      {"AlltoAll with different counts",
       [](World& w) { return HcclAlltoAll(w.a, 1, kF32, w.b, 2, kF32, w.comm, w.stream); },
       HCCL_E_PARA,
       {"EI0003", "HcclAlltoAll", "recvCount"}},
      {"AlltoAll with different types",
       [](World& w) {
         return HcclAlltoAll(w.a, 1, kF32, w.b, 1, HCCL_DATA_TYPE_INT32, w.comm, w.stream);
       },
       HCCL_E_PARA,
       {"EI0003", "HcclAlltoAll", "recvType"}},
      {"AlltoAll in place",
       [](World& w) { return HcclAlltoAll(w.a, 1, kF32, w.a, 1, kF32, w.comm, w.stream); },
       HCCL_E_PARA,
       {"EI0003", "recvBuf"}},
      {"AlltoAll of nothing",
       [](World&) { return HcclAlltoAll(nullptr, 0, kF32, nullptr, 0, kF32, nullptr, nullptr); },
       HCCL_SUCCESS,
       {}},
      {"AlltoAll without input",
       [](World& w) { return HcclAlltoAll(nullptr, 1, kF32, w.b, 1, kF32, w.comm, w.stream); },
       HCCL_E_PTR, nullText("HcclAlltoAll", "sendBuf")},
      {"AlltoAllV in place",
       [](World& w) {
         return HcclAlltoAllV(w.a, w.ones.data(), w.displs.data(), kF32, w.a, w.ones.data(),
                              w.displs.data(), kF32, w.comm, w.stream);
       },
       HCCL_E_PARA,
       {"EI0003", "recvBuf"}},
      {"AlltoAllV with different types",
       [](World& w) {
         return HcclAlltoAllV(w.a, w.ones.data(), w.displs.data(), kF32, w.b, w.ones.data(),
                              w.displs.data(), HCCL_DATA_TYPE_INT32, w.comm, w.stream);
       },
       HCCL_E_PARA,
       {"EI0003", "recvType"}},
      {"AlltoAllV without input though it has counts",
       [](World& w) {
         return HcclAlltoAllV(nullptr, w.ones.data(), w.displs.data(), kF32, w.b, w.ones.data(),
                              w.displs.data(), kF32, w.comm, w.stream);
       },
       HCCL_E_PTR, nullText("HcclAlltoAllV", "sendBuf")},
      {"AlltoAllV without displacements",
       [](World& w) {
         return HcclAlltoAllV(w.a, w.ones.data(), nullptr, kF32, w.b, w.ones.data(),
                              w.displs.data(), kF32, w.comm, w.stream);
       },
       HCCL_E_PTR, nullText("HcclAlltoAllV", "sdispls")},
      {"AlltoAllVC without matrix",
       [](World& w) { return HcclAlltoAllVC(w.a, nullptr, kF32, w.b, kF32, w.comm, w.stream); },
       HCCL_E_PTR, nullText("HcclAlltoAllVC", "sendCountMatrix")},
      {"AlltoAllVC in place",
       [](World& w) {
         const std::vector<uint64_t> matrix(size_t{w.ranks} * w.ranks, 1);
         return HcclAlltoAllVC(w.a, matrix.data(), kF32, w.a, kF32, w.comm, w.stream);
       },
       HCCL_E_PARA,
       {"EI0003", "recvBuf"}},
      {"AlltoAllVC with different types",
       [](World& w) {
         const std::vector<uint64_t> matrix(size_t{w.ranks} * w.ranks, 1);
         return HcclAlltoAllVC(w.a, matrix.data(), kF32, w.b, HCCL_DATA_TYPE_INT32, w.comm,
                               w.stream);
       },
       HCCL_E_PARA,
       {"EI0003", "recvType"}},
      {"AlltoAllVC of nothing",
       [](World& w) {
         const std::vector<uint64_t> matrix(size_t{w.ranks} * w.ranks, 0);
         return HcclAlltoAllVC(nullptr, matrix.data(), kF32, nullptr, kF32, w.comm, w.stream);
       },
       HCCL_SUCCESS,
       {}},
  };
}

std::vector<Row> pointToPointRows() {
  return {
      {"Send to itself",
       [](World& w) { return HcclSend(w.a, 1, kF32, w.rank, w.comm, w.stream); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "HcclSend"}},
      {"Recv from itself",
       [](World& w) { return HcclRecv(w.a, 1, kF32, w.rank, w.comm, w.stream); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "HcclRecv"}},
      {"Send to no rank",
       [](World& w) { return HcclSend(w.a, 1, kF32, w.ranks, w.comm, w.stream); },
       HCCL_E_PARA,
       {"EI0003", "HcclSend", "destRank"}},
      {"Recv from no rank",
       [](World& w) { return HcclRecv(w.a, 1, kF32, w.ranks, w.comm, w.stream); },
       HCCL_E_PARA,
       {"EI0003", "HcclRecv", "srcRank"}},
      {"Send of nothing",
       [](World&) { return HcclSend(nullptr, 0, kF32, 0, nullptr, nullptr); },
       HCCL_SUCCESS,
       {}},
      {"Recv without buffer",
       [](World& w) { return HcclRecv(nullptr, 1, kF32, 0, w.comm, w.stream); }, HCCL_E_PTR,
       nullText("HcclRecv", "recvBuf")},
      {"Send of int128",
       [](World& w) { return HcclSend(w.a, 1, HCCL_DATA_TYPE_INT128, 0, w.comm, w.stream); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckDataType"}},
      {"BatchSendRecv of nothing",
       [](World& w) { return HcclBatchSendRecv(nullptr, 0, w.comm, w.stream); },
       HCCL_SUCCESS,
       {}},
      {"BatchSendRecv without items",
       [](World& w) { return HcclBatchSendRecv(nullptr, 1, w.comm, w.stream); }, HCCL_E_PTR,
       nullText("HcclBatchSendRecv", "sendRecvInfo")},
      {"BatchSendRecv with no rank",
       [](World& w) {
         HcclSendRecvItem item = {HCCL_SEND, w.a, 1, kF32, w.ranks};
         return HcclBatchSendRecv(&item, 1, w.comm, w.stream);
       },
       HCCL_E_PARA,
       {"EI0003", "remoteRank"}},
      {"BatchSendRecv without buffer",
       [](World& w) {
         HcclSendRecvItem item = {HCCL_RECV, nullptr, 1, kF32, 0};
         return HcclBatchSendRecv(&item, 1, w.comm, w.stream);
       },
       HCCL_E_PTR, nullText("HcclBatchSendRecv", "buf")},
      {"BatchSendRecv with itself",
       [](World& w) {
         HcclSendRecvItem items[] = {{HCCL_RECV, w.b, 4, kF32, w.rank},
                                     {HCCL_SEND, w.a, 4, kF32, w.rank}};
         return HcclBatchSendRecv(items, 2, w.comm, w.stream);
       },
       HCCL_SUCCESS,
       {}},
      {"Barrier without stream", [](World& w) { return HcclBarrier(w.comm, nullptr); }, HCCL_E_PTR,
       nullText("HcclBarrier", "stream")},
      {"Barrier without communicator", [](World& w) { return HcclBarrier(nullptr, w.stream); },
       HCCL_E_PTR, nullText("HcclBarrier", "comm")},
      {"BatchSendRecv in a group",
       [](World& w) {
         HcclSendRecvItem item = {HCCL_SEND, w.a, 1, kF32, 0};
         HcclResult result = HcclGroupStart();
         if (result == HCCL_SUCCESS) result = HcclBatchSendRecv(&item, 1, w.comm, w.stream);
         (void)HcclGroupEnd();
         return result;
       },
       HCCL_E_NOT_SUPPORT,
       {}},
      {"a group that mixes kinds",
       [](World& w) {
         (void)HcclGroupStart();
         (void)HcclAllReduce(w.a, w.b, 1, kF32, kSum, w.comm, w.stream);
         (void)HcclSend(w.a, 1, kF32, (w.rank + 1) % w.ranks, w.comm, w.stream);
         return HcclGroupEnd();
       },
       HCCL_E_NOT_SUPPORT,
       {}},
      {"the end of no group", [](World&) { return HcclGroupEnd(); }, HCCL_E_NOT_SUPPORT, {}},
      {"operations on a suspended communicator",
       [](World& w) {
         HcclResult result = HcclCommSuspend(w.comm);
         if (result == HCCL_SUCCESS)
           result = HcclAllReduce(w.a, w.b, 1, kF32, kSum, w.comm, w.stream);
         return result;
       },
       HCCL_E_SUSPENDING,
       {}},
  };
}

}  // namespace

std::vector<Row> collectiveRows() {
  std::vector<Row> all = allReduceRows();
  append(all, rootedRows());
  append(all, blockRows());
  append(all, allToAllRows());
  append(all, pointToPointRows());  // the last one leaves the communicator suspended
  return all;
}

}  // namespace hccl::multirank
