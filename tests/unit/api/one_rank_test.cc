// A communicator of one rank does what the operations say: it moves the data to the output.
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>

#include "tests/unit/api/support.h"

namespace api_test {
namespace {

class OneRankData : public OneRank {
 protected:
  static constexpr size_t kCount = 1000;
  std::vector<int32_t> in = std::vector<int32_t>(kCount);
  std::vector<int32_t> out = std::vector<int32_t>(kCount, -1);

  void SetUp() override {
    OneRank::SetUp();
    std::iota(in.begin(), in.end(), 7);
  }
  void expectMoved(HcclResult result) {
    ASSERT_EQ(result, HCCL_SUCCESS) << takeError();
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(out, in);
    out.assign(kCount, -1);
  }
};

TEST_F(OneRankData, Collectives) {
  const auto t = HCCL_DATA_TYPE_INT32;
  const uint64_t counts[1] = {kCount};
  const uint64_t displs[1] = {0};
  void* const i = in.data();
  void* const o = out.data();
  expectMoved(HcclAllReduce(i, o, kCount, t, HCCL_REDUCE_SUM, comm, stream));
  expectMoved(HcclReduce(i, o, kCount, t, HCCL_REDUCE_MAX, 0, comm, stream));
  expectMoved(HcclReduceScatter(i, o, kCount, t, HCCL_REDUCE_MIN, comm, stream));
  expectMoved(HcclReduceScatterV(i, counts, displs, o, kCount, t, HCCL_REDUCE_SUM, comm, stream));
  expectMoved(HcclAllGather(i, o, kCount, t, comm, stream));
  expectMoved(HcclAllGatherV(i, kCount, o, counts, displs, t, comm, stream));
  expectMoved(HcclScatter(i, o, kCount, t, 0, comm, stream));
  expectMoved(HcclAlltoAll(i, kCount, t, o, kCount, t, comm, stream));
  expectMoved(HcclAlltoAllV(i, counts, displs, t, o, counts, displs, t, comm, stream));
  expectMoved(HcclAlltoAllVC(i, counts, t, o, t, comm, stream));
  EXPECT_EQ(HcclBroadcast(i, kCount, t, 0, comm, stream), HCCL_SUCCESS);
  EXPECT_EQ(HcclBarrier(comm, stream), HCCL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(in[999], 1006);
}

TEST_F(OneRankData, Displacements) {
  const uint64_t counts[1] = {10};
  const uint64_t from[1] = {5};
  const uint64_t to[1] = {100};
  const auto t = HCCL_DATA_TYPE_INT32;
  ASSERT_EQ(HcclAlltoAllV(in.data(), counts, from, t, out.data(), counts, to, t, comm, stream),
            HCCL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  for (size_t k = 0; k < kCount; ++k) {
    EXPECT_EQ(out[k], k >= 100 && k < 110 ? in[k - 95] : -1) << k;
  }
}

TEST_F(OneRankData, BatchToItself) {
  const auto t = HCCL_DATA_TYPE_INT32;
  HcclSendRecvItem items[] = {{HCCL_RECV, out.data(), 10, t, 0},
                              {HCCL_SEND, in.data() + 20, 10, t, 0},
                              {HCCL_SEND, in.data(), 5, t, 0},
                              {HCCL_RECV, out.data() + 50, 5, t, 0}};
  ASSERT_EQ(HcclBatchSendRecv(items, 4, comm, stream), HCCL_SUCCESS) << takeError();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(out[0], in[20]);
  EXPECT_EQ(out[9], in[29]);
  EXPECT_EQ(out[10], -1);
  EXPECT_EQ(out[50], in[0]);
  EXPECT_EQ(out[54], in[4]);
  EXPECT_EQ(out[55], -1);
}

TEST_F(OneRankData, PartialOverlapIsRefused) {
  EXPECT_EQ(HcclAllReduce(in.data(), in.data() + 1, 100, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          comm, stream),
            HCCL_E_PARA);
  EXPECT_THAT(takeError(), ::testing::HasSubstr("EI0003"));
}

TEST_F(OneRankData, Questions) {
  uint32_t value = 99;
  EXPECT_EQ(HcclGetRankSize(comm, &value), HCCL_SUCCESS);
  EXPECT_EQ(value, 1U);
  EXPECT_EQ(HcclGetRankId(comm, &value), HCCL_SUCCESS);
  EXPECT_EQ(value, 0U);
  char name[COMM_NAME_MAX_LENGTH] = {};
  EXPECT_EQ(HcclGetCommName(comm, name), HCCL_SUCCESS);
  EXPECT_THAT(name, ::testing::MatchesRegex("127\\.0\\.0\\.1(%[a-z0-9]+)?_[0-9]+_0_[0-9]+"));
  HcclComm found = nullptr;
  EXPECT_EQ(HcclCommGetHandleWithName(name, &found), HCCL_SUCCESS);
  EXPECT_EQ(found, comm);
  EXPECT_EQ(HcclCommGetHandleWithName("nobody", &found), HCCL_E_NOT_FOUND);
  HcclResult error = HCCL_E_INTERNAL;
  EXPECT_EQ(HcclGetCommAsyncError(comm, &error), HCCL_SUCCESS);
  EXPECT_EQ(error, HCCL_SUCCESS);
}

TEST_F(OneRankData, Suspension) {
  char name[COMM_NAME_MAX_LENGTH] = {};
  ASSERT_EQ(HcclGetCommName(comm, name), HCCL_SUCCESS);
  std::vector<int> phases;
  const auto callback = [](HcclComm, HcclCommStatePhase phase, void* args) {
    static_cast<std::vector<int>*>(args)->push_back(phase);
    return HCCL_SUCCESS;
  };
  ASSERT_EQ(HcclCommRegCommStateCallback("test", callback, &phases), HCCL_SUCCESS);
  const auto reduce = [&] {
    return HcclAllReduce(in.data(), out.data(), kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                         stream);
  };
  HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
  EXPECT_EQ(HcclCommGetStatus(name, &status), HCCL_SUCCESS);
  EXPECT_EQ(status, HCCL_COMM_STATUS_READY);
  EXPECT_EQ(HcclCommSuspend(comm), HCCL_SUCCESS);
  EXPECT_EQ(reduce(), HCCL_E_SUSPENDING);
  EXPECT_EQ(HcclCommGetStatus(name, &status), HCCL_SUCCESS);
  EXPECT_EQ(status, HCCL_COMM_STATUS_SUSPENDING);
  EXPECT_EQ(HcclCommResume(comm), HCCL_SUCCESS);
  expectMoved(reduce());
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
  comm = nullptr;
  EXPECT_EQ(phases, (std::vector<int>{2, 3, 0, 1}));
  EXPECT_EQ(HcclCommGetStatus(name, &status), HCCL_SUCCESS);
  EXPECT_EQ(status, HCCL_COMM_STATUS_INVALID);
  // It outlives `phases` otherwise.
  ASSERT_EQ(HcclCommRegCommStateCallback(
                "test", [](HcclComm, HcclCommStatePhase, void*) { return HCCL_SUCCESS; }, nullptr),
            HCCL_SUCCESS);
}

TEST_F(OneRankData, DestroyWhileAnOperationWaits) {
  static bool released;
  released = false;
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream,
                [](void*) {
                  while (!__atomic_load_n(&released, __ATOMIC_ACQUIRE)) usleep(1000);
                },
                nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(HcclAllReduce(in.data(), out.data(), kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          comm, stream),
            HCCL_SUCCESS);
  const HcclResult busy = HcclCommDestroy(comm);
  __atomic_store_n(&released, true, __ATOMIC_RELEASE);
  EXPECT_EQ(busy, HCCL_E_AGAIN);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(out, in);
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_E_PARA);
  EXPECT_EQ(HcclAllReduce(in.data(), out.data(), kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          comm, stream),
            HCCL_E_PARA);
  comm = nullptr;
}

TEST_F(OneRankData, ForkedChildIsRefused) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    uint32_t size = 0;
    ::_exit(HcclGetRankSize(comm, &size) == HCCL_E_UNAVAIL &&
                    HcclBarrier(comm, stream) == HCCL_E_UNAVAIL
                ? 0
                : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expectMoved(HcclAllReduce(in.data(), out.data(), kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                            comm, stream));
}

}  // namespace
}  // namespace api_test
