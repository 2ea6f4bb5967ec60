// Every rule of the collectives that one rank can break: return code and text.
#include "tests/unit/api/support.h"

namespace api_test {
namespace {

constexpr auto kFp32 = HCCL_DATA_TYPE_FP32;
constexpr auto kSum = HCCL_REDUCE_SUM;

class CollectiveRules : public OneRank {
 protected:
  float a[8] = {};
  float b[8] = {};
  const uint64_t one[1] = {4};
  const uint64_t zero[1] = {0};
  const uint64_t huge[1] = {kMaxCount + 1};

  // What all operations with (send, recv, count) check alike, in this order.
  using Operation =
      std::function<HcclResult(void*, void*, uint64_t, HcclDataType, HcclComm, aclrtStream)>;
  void checkCommon(const std::string& op, const Operation& run) {
    const HcclDataType int128 = HCCL_DATA_TYPE_INT128;
    checkCases({
        {op + " count 0",
         [&] { return run(nullptr, nullptr, 0, int128, nullptr, nullptr); },
         HCCL_SUCCESS,
         {}},
        {op + " stream",
         [&] { return run(nullptr, nullptr, 4, kFp32, nullptr, nullptr); },
         HCCL_E_PTR,
         {"EI0003", "operator " + op, "Value nullptr for parameter stream",
          "The expected value is non-null pointer"}},
        {op + " comm",
         [&] { return run(nullptr, nullptr, 4, kFp32, nullptr, stream); },
         HCCL_E_PTR,
         {"EI0003", "nullptr for parameter comm"}},
        {op + " sendBuf",
         [&] { return run(nullptr, nullptr, 4, kFp32, comm, stream); },
         HCCL_E_PTR,
         {"EI0003", "nullptr for parameter"}},
        {op + " recvBuf",
         [&] { return run(a, nullptr, 4, kFp32, comm, stream); },
         HCCL_E_PTR,
         {"EI0003", "nullptr for parameter recvBuf"}},
        {op + " unknown comm",
         [&] { return run(a, b, 4, kFp32, strangeHandle(), stream); },
         HCCL_E_PARA,
         {"EI0003", "parameter comm"}},
        {op + " unknown stream",
         [&] { return run(a, b, 4, kFp32, comm, strangeHandle()); },
         HCCL_E_PARA,
         {"EI0003", "parameter stream"}},
        {op + " count",
         [&] { return run(a, b, kMaxCount + 1, int128, comm, stream); },
         HCCL_E_PARA,
         {"EI0003", "34359738368", "34359738367"}},
        {op + " int128",
         [&] { return run(a, b, 4, int128, comm, stream); },
         HCCL_E_NOT_SUPPORT,
         {"EI0003", "int128", "DataType"}},
        {op + " type 13",
         [&] { return run(a, b, 4, static_cast<HcclDataType>(13), comm, stream); },
         HCCL_E_NOT_SUPPORT,
         {"EI0003", "Value 13"}},
        {op + " type 255",
         [&] { return run(a, b, 4, HCCL_DATA_TYPE_RESERVED, comm, stream); },
         HCCL_E_NOT_SUPPORT,
         {"EI0003", "Value 255"}},
    });
  }
};

TEST_F(CollectiveRules, Common) {
  checkCommon("HcclAllReduce", [](void* s, void* r, uint64_t n, HcclDataType t, HcclComm c,
                                  aclrtStream q) { return HcclAllReduce(s, r, n, t, kSum, c, q); });
  checkCommon("HcclReduce", [](void* s, void* r, uint64_t n, HcclDataType t, HcclComm c,
                               aclrtStream q) { return HcclReduce(s, r, n, t, kSum, 0, c, q); });
  checkCommon("HcclReduceScatter",
              [](void* s, void* r, uint64_t n, HcclDataType t, HcclComm c, aclrtStream q) {
                return HcclReduceScatter(s, r, n, t, kSum, c, q);
              });
  checkCommon("HcclAllGather", [](void* s, void* r, uint64_t n, HcclDataType t, HcclComm c,
                                  aclrtStream q) { return HcclAllGather(s, r, n, t, c, q); });
  checkCommon("HcclScatter", [](void* s, void* r, uint64_t n, HcclDataType t, HcclComm c,
                                aclrtStream q) { return HcclScatter(s, r, n, t, 0, c, q); });
  checkCommon("HcclAlltoAll", [](void* s, void* r, uint64_t n, HcclDataType t, HcclComm c,
                                 aclrtStream q) { return HcclAlltoAll(s, n, t, r, n, t, c, q); });
}

TEST_F(CollectiveRules, RootsAndBuffers) {
  checkCases({
      {"Reduce root",
       [&] { return HcclReduce(a, b, 4, kFp32, kSum, 1, comm, stream); },
       HCCL_E_PARA,
       {"EI0003", "parameter root"}},
      {"Broadcast root",
       [&] { return HcclBroadcast(a, 4, kFp32, 1, comm, stream); },
       HCCL_E_PARA,
       {"EI0003", "HcclBroadcast", "parameter root"}},
      {"Broadcast count 0",
       [&] { return HcclBroadcast(nullptr, 0, kFp32, 9, nullptr, nullptr); },
       HCCL_SUCCESS,
       {}},
      {"Broadcast buf",
       [&] { return HcclBroadcast(nullptr, 4, kFp32, 0, comm, stream); },
       HCCL_E_PTR,
       {"EI0003", "parameter buf"}},
      {"Broadcast type",
       [&] { return HcclBroadcast(a, 4, HCCL_DATA_TYPE_INT128, 0, comm, stream); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "CheckDataType"}},
      {"Broadcast count",
       [&] { return HcclBroadcast(a, kMaxCount + 1, kFp32, 0, comm, stream); },
       HCCL_E_PARA,
       {"EI0003"}},
      {"Scatter root",
       [&] { return HcclScatter(a, b, 4, kFp32, 7, comm, stream); },
       HCCL_E_PARA,
       {"EI0003", "parameter root"}},
      {"Scatter sendBuf at the root",
       [&] { return HcclScatter(nullptr, b, 4, kFp32, 0, comm, stream); },
       HCCL_E_PTR,
       {"EI0003", "parameter sendBuf"}},
      {"Barrier stream",
       [&] { return HcclBarrier(comm, nullptr); },
       HCCL_E_PTR,
       {"EI0003", "parameter stream"}},
      {"Barrier comm",
       [&] { return HcclBarrier(nullptr, stream); },
       HCCL_E_PTR,
       {"EI0003", "parameter comm"}},
      {"Barrier destroyed",
       [&] { return HcclBarrier(strangeHandle(), stream); },
       HCCL_E_PARA,
       {"EI0003"}},
  });
}

TEST_F(CollectiveRules, ReductionMatrix) {
  const auto hasReduction = [](int type, int op) {
    const bool known = type == HCCL_DATA_TYPE_INT8 || type == HCCL_DATA_TYPE_INT16 ||
                       type == HCCL_DATA_TYPE_INT32 || type == HCCL_DATA_TYPE_INT64 ||
                       type == HCCL_DATA_TYPE_UINT64 || type == HCCL_DATA_TYPE_FP16 ||
                       type == HCCL_DATA_TYPE_FP32 || type == HCCL_DATA_TYPE_FP64 ||
                       type == HCCL_DATA_TYPE_BFP16;
    if (op == HCCL_REDUCE_PROD && (type == HCCL_DATA_TYPE_INT16 || type == HCCL_DATA_TYPE_BFP16)) {
      return false;
    }
    return known && op >= 0 && op <= 3;
  };
  alignas(64) char in[64] = {};
  alignas(64) char out[64] = {};
  for (int type = -1; type <= 18; ++type) {
    for (const int op : {-1, 0, 1, 2, 3, 4, 255}) {
      SCOPED_TRACE(std::to_string(type) + " op " + std::to_string(op));
      const auto t = static_cast<HcclDataType>(type);
      const auto o = static_cast<HcclReduceOp>(op);
      const HcclResult expected = hasReduction(type, op) ? HCCL_SUCCESS : HCCL_E_NOT_SUPPORT;
      takeError();
      EXPECT_EQ(HcclAllReduce(in, out, 2, t, o, comm, stream), expected);
      const std::string error = takeError();
      if (expected != HCCL_SUCCESS) {
        EXPECT_THAT(error, ::testing::HasSubstr("operator CheckReduceDataType"));
      }
      EXPECT_EQ(HcclReduce(in, out, 2, t, o, 0, comm, stream), expected);
      EXPECT_EQ(HcclReduceScatter(in, out, 2, t, o, comm, stream), expected);
    }
  }
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

TEST_F(CollectiveRules, MovableTypes) {
  alignas(64) char in[64] = {};
  alignas(64) char out[64] = {};
  for (int type = -1; type <= 20; ++type) {
    SCOPED_TRACE(type);
    const bool movable = type >= 0 && type <= 17 && type != HCCL_DATA_TYPE_INT128 && type != 13;
    const HcclResult expected = movable ? HCCL_SUCCESS : HCCL_E_NOT_SUPPORT;
    const auto t = static_cast<HcclDataType>(type);
    EXPECT_EQ(HcclAllGather(in, out, 2, t, comm, stream), expected);
    EXPECT_EQ(HcclBroadcast(in, 2, t, 0, comm, stream), expected);
    EXPECT_EQ(HcclAlltoAll(in, 2, t, out, 2, t, comm, stream), expected);
  }
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
}

TEST_F(CollectiveRules, VaryingParts) {
  const auto rs = [&](void* s, const void* c, const void* d, void* r, uint64_t n) {
    return HcclReduceScatterV(s, c, d, r, n, kFp32, kSum, comm, stream);
  };
  const auto ag = [&](void* s, uint64_t n, void* r, const void* c, const void* d) {
    return HcclAllGatherV(s, n, r, c, d, kFp32, comm, stream);
  };
  checkCases({
      {"RSV sendCounts", [&] { return rs(a, nullptr, zero, b, 4); }, HCCL_E_PTR, {"sendCounts"}},
      {"RSV sendDispls", [&] { return rs(a, one, nullptr, b, 4); }, HCCL_E_PTR, {"sendDispls"}},
      {"RSV all zero", [&] { return rs(nullptr, zero, zero, nullptr, 0); }, HCCL_SUCCESS, {}},
      {"RSV sendBuf", [&] { return rs(nullptr, one, zero, b, 4); }, HCCL_E_PTR, {"sendBuf"}},
      {"RSV recvBuf", [&] { return rs(a, one, zero, nullptr, 4); }, HCCL_E_PTR, {"recvBuf"}},
      {"RSV in place", [&] { return rs(a, one, zero, a, 4); }, HCCL_E_PARA, {"recvBuf"}},
      {"RSV own count", [&] { return rs(a, one, zero, b, 3); }, HCCL_E_PARA, {"recvCount"}},
      {"RSV count", [&] { return rs(a, huge, zero, b, huge[0]); }, HCCL_E_PARA, {"34359738367"}},
      {"RSV type",
       [&] {
         return HcclReduceScatterV(a, one, zero, b, 4, HCCL_DATA_TYPE_UINT8, kSum, comm, stream);
       },
       HCCL_E_NOT_SUPPORT,
       {"CheckReduceDataType"}},
      {"RSV stream",
       [&] { return HcclReduceScatterV(a, one, zero, b, 4, kFp32, kSum, comm, nullptr); },
       HCCL_E_PTR,
       {"stream"}},
      {"AGV recvCounts", [&] { return ag(a, 4, b, nullptr, zero); }, HCCL_E_PTR, {"recvCounts"}},
      {"AGV recvDispls", [&] { return ag(a, 4, b, one, nullptr); }, HCCL_E_PTR, {"recvDispls"}},
      {"AGV all zero", [&] { return ag(nullptr, 0, nullptr, zero, zero); }, HCCL_SUCCESS, {}},
      {"AGV sendBuf", [&] { return ag(nullptr, 4, b, one, zero); }, HCCL_E_PTR, {"sendBuf"}},
      {"AGV recvBuf", [&] { return ag(a, 4, nullptr, one, zero); }, HCCL_E_PTR, {"recvBuf"}},
      {"AGV in place", [&] { return ag(a, 4, a, one, zero); }, HCCL_E_PARA, {"recvBuf"}},
      {"AGV own count", [&] { return ag(a, 5, b, one, zero); }, HCCL_E_PARA, {"sendCount"}},
      {"AGV count", [&] { return ag(a, huge[0], b, huge, zero); }, HCCL_E_PARA, {"34359738367"}},
      {"AGV type",
       [&] { return HcclAllGatherV(a, 4, b, one, zero, HCCL_DATA_TYPE_INT128, comm, stream); },
       HCCL_E_NOT_SUPPORT,
       {"CheckDataType"}},
      {"AGV comm",
       [&] { return HcclAllGatherV(a, 4, b, one, zero, kFp32, nullptr, stream); },
       HCCL_E_PTR,
       {"comm"}},
  });
}

TEST_F(CollectiveRules, AlltoAllFamily) {
  const auto i32 = HCCL_DATA_TYPE_INT32;
  const auto v = [&](const void* s, const void* sc, const void* sd, const void* r, const void* rc,
                     const void* rd) {
    return HcclAlltoAllV(s, sc, sd, kFp32, r, rc, rd, kFp32, comm, stream);
  };
  const auto vc = [&](const void* s, const void* m, const void* r) {
    return HcclAlltoAllVC(s, m, kFp32, r, kFp32, comm, stream);
  };
  checkCases({
      {"A2A counts",
       [&] { return HcclAlltoAll(a, 4, kFp32, b, 3, kFp32, comm, stream); },
       HCCL_E_PARA,
       {"EI0003", "recvCount"}},
      {"A2A types",
       [&] { return HcclAlltoAll(a, 4, kFp32, b, 4, i32, comm, stream); },
       HCCL_E_PARA,
       {"EI0003", "recvType"}},
      {"A2A in place",
       [&] { return HcclAlltoAll(a, 4, kFp32, a, 4, kFp32, comm, stream); },
       HCCL_E_PARA,
       {"EI0003", "recvBuf"}},
      {"A2AV sendCounts",
       [&] { return v(a, nullptr, zero, b, one, zero); },
       HCCL_E_PTR,
       {"sendCounts"}},
      {"A2AV sdispls", [&] { return v(a, one, nullptr, b, one, zero); }, HCCL_E_PTR, {"sdispls"}},
      {"A2AV recvCounts",
       [&] { return v(a, one, zero, b, nullptr, zero); },
       HCCL_E_PTR,
       {"recvCounts"}},
      {"A2AV rdispls", [&] { return v(a, one, zero, b, one, nullptr); }, HCCL_E_PTR, {"rdispls"}},
      {"A2AV all zero",
       [&] { return v(nullptr, zero, zero, nullptr, zero, zero); },
       HCCL_SUCCESS,
       {}},
      {"A2AV sendBuf",
       [&] { return v(nullptr, one, zero, b, one, zero); },
       HCCL_E_PTR,
       {"sendBuf"}},
      {"A2AV recvBuf",
       [&] { return v(a, one, zero, nullptr, one, zero); },
       HCCL_E_PTR,
       {"recvBuf"}},
      {"A2AV in place", [&] { return v(a, one, zero, a, one, zero); }, HCCL_E_PARA, {"recvBuf"}},
      {"A2AV count", [&] { return v(a, huge, zero, b, huge, zero); }, HCCL_E_PARA, {"34359738367"}},
      {"A2AV own counts",
       [&] { return v(a, one, zero, b, zero, zero); },
       HCCL_E_PARA,
       {"recvCounts"}},
      {"A2AV types",
       [&] { return HcclAlltoAllV(a, one, zero, kFp32, b, one, zero, i32, comm, stream); },
       HCCL_E_PARA,
       {"recvType"}},
      {"A2AVC matrix", [&] { return vc(a, nullptr, b); }, HCCL_E_PTR, {"sendCountMatrix"}},
      {"A2AVC all zero", [&] { return vc(nullptr, zero, nullptr); }, HCCL_SUCCESS, {}},
      {"A2AVC sendBuf", [&] { return vc(nullptr, one, b); }, HCCL_E_PTR, {"sendBuf"}},
      {"A2AVC recvBuf", [&] { return vc(a, one, nullptr); }, HCCL_E_PTR, {"recvBuf"}},
      {"A2AVC in place", [&] { return vc(a, one, a); }, HCCL_E_PARA, {"recvBuf"}},
      {"A2AVC count", [&] { return vc(a, huge, b); }, HCCL_E_PARA, {"34359738367"}},
      {"A2AVC types",
       [&] { return HcclAlltoAllVC(a, one, kFp32, b, i32, comm, stream); },
       HCCL_E_PARA,
       {"recvType"}},
  });
}

TEST_F(CollectiveRules, PointToPoint) {
  const auto item = [&](int kind, void* buf, uint64_t n, HcclDataType t, uint32_t peer) {
    HcclSendRecvItem single{static_cast<HcclSendRecvType>(kind), buf, n, t, peer};
    return HcclBatchSendRecv(&single, 1, comm, stream);
  };
  checkCases({
      {"Send count 0",
       [&] { return HcclSend(nullptr, 0, kFp32, 9, nullptr, nullptr); },
       HCCL_SUCCESS,
       {}},
      {"Send stream",
       [&] { return HcclSend(a, 4, kFp32, 0, comm, nullptr); },
       HCCL_E_PTR,
       {"HcclSend", "stream"}},
      {"Send comm",
       [&] { return HcclSend(a, 4, kFp32, 0, nullptr, stream); },
       HCCL_E_PTR,
       {"comm"}},
      {"Send sendBuf",
       [&] { return HcclSend(nullptr, 4, kFp32, 0, comm, stream); },
       HCCL_E_PTR,
       {"sendBuf"}},
      {"Send self",
       [&] { return HcclSend(a, 4, kFp32, 0, comm, stream); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "destRank"}},
      {"Send peer",
       [&] { return HcclSend(a, 4, kFp32, 1, comm, stream); },
       HCCL_E_PARA,
       {"EI0003", "destRank"}},
      {"Send type",
       [&] { return HcclSend(a, 4, HCCL_DATA_TYPE_INT128, 0, comm, stream); },
       HCCL_E_NOT_SUPPORT,
       {"CheckDataType"}},
      {"Recv count 0",
       [&] { return HcclRecv(nullptr, 0, kFp32, 9, nullptr, nullptr); },
       HCCL_SUCCESS,
       {}},
      {"Recv recvBuf",
       [&] { return HcclRecv(nullptr, 4, kFp32, 0, comm, stream); },
       HCCL_E_PTR,
       {"HcclRecv", "recvBuf"}},
      {"Recv self",
       [&] { return HcclRecv(a, 4, kFp32, 0, comm, stream); },
       HCCL_E_NOT_SUPPORT,
       {"EI0003", "srcRank"}},
      {"Recv peer",
       [&] { return HcclRecv(a, 4, kFp32, 5, comm, stream); },
       HCCL_E_PARA,
       {"srcRank"}},
      {"Recv count",
       [&] { return HcclRecv(a, kMaxCount + 1, kFp32, 5, comm, stream); },
       HCCL_E_PARA,
       {"34359738367"}},
      {"Batch empty",
       [&] { return HcclBatchSendRecv(nullptr, 0, nullptr, nullptr); },
       HCCL_SUCCESS,
       {}},
      {"Batch items",
       [&] { return HcclBatchSendRecv(nullptr, 1, comm, stream); },
       HCCL_E_PTR,
       {"sendRecvInfo"}},
      {"Batch kind", [&] { return item(2, a, 4, kFp32, 0); }, HCCL_E_PARA, {"sendRecvType"}},
      {"Batch peer", [&] { return item(0, a, 4, kFp32, 1); }, HCCL_E_PARA, {"remoteRank"}},
      {"Batch buf", [&] { return item(0, nullptr, 4, kFp32, 0); }, HCCL_E_PTR, {"buf"}},
      {"Batch type",
       [&] { return item(0, a, 4, HCCL_DATA_TYPE_RESERVED, 0); },
       HCCL_E_NOT_SUPPORT,
       {"CheckDataType"}},
      {"Batch count", [&] { return item(0, a, kMaxCount + 1, kFp32, 0); }, HCCL_E_PARA, {"count"}},
      {"Batch only empty", [&] { return item(0, nullptr, 0, kFp32, 0); }, HCCL_SUCCESS, {}},
  });
}

}  // namespace
}  // namespace api_test
