// Communicators whose ranks are threads of this process.
#include <atomic>
#include <cstring>
#include <fstream>

#include "tests/unit/api/support.h"

namespace api_test {
namespace {

constexpr uint32_t kRanks = 4;

std::vector<HcclComm> initAll() {
  std::vector<int32_t> devices;
  for (uint32_t i = 0; i < kRanks; ++i) devices.push_back(static_cast<int32_t>(i));
  std::vector<HcclComm> comms(kRanks);
  EXPECT_EQ(HcclCommInitAll(kRanks, devices.data(), comms.data()), HCCL_SUCCESS) << takeError();
  return comms;
}

struct Stream {
  Stream() { EXPECT_EQ(aclrtCreateStream(&handle), ACL_SUCCESS); }
  ~Stream() { EXPECT_EQ(aclrtDestroyStream(handle), ACL_SUCCESS); }
  void wait() { EXPECT_EQ(aclrtSynchronizeStream(handle), ACL_SUCCESS) << takeError(); }
  aclrtStream handle = nullptr;
};

void expectSum(HcclComm comm, uint32_t rank, uint32_t ranks) {
  Stream stream;
  std::vector<int64_t> in(1000);
  std::vector<int64_t> out(1000, -1);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int64_t>(i * 10 + rank);
  ASSERT_EQ(HcclAllReduce(in.data(), out.data(), in.size(), HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM,
                          comm, stream.handle),
            HCCL_SUCCESS)
      << takeError();
  stream.wait();
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(out[i], static_cast<int64_t>(ranks * i * 10 + ranks * (ranks - 1) / 2)) << i;
  }
}

TEST(Threads, InitAll) {
  const std::vector<HcclComm> comms = initAll();
  onThreads(kRanks, [&](uint32_t rank) {
    uint32_t value = 99;
    EXPECT_EQ(HcclGetRankId(comms[rank], &value), HCCL_SUCCESS);
    EXPECT_EQ(value, rank);
    EXPECT_EQ(HcclGetRankSize(comms[rank], &value), HCCL_SUCCESS);
    EXPECT_EQ(value, kRanks);
    expectSum(comms[rank], rank, kRanks);
    EXPECT_EQ(HcclCommDestroy(comms[rank]), HCCL_SUCCESS);
  });
}

TEST(Threads, GroupedInitialisationAndTransfers) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  HcclRootInfo root;
  ASSERT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS);
  HcclComm comms[kRanks] = {};
  ASSERT_EQ(HcclGroupStart(), HCCL_SUCCESS);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(aclrtSetDevice(static_cast<int32_t>(rank)), ACL_SUCCESS);
    ASSERT_EQ(HcclCommInitRootInfo(kRanks, &root, rank, &comms[rank]), HCCL_SUCCESS);
    EXPECT_EQ(comms[rank], nullptr);
  }
  ASSERT_EQ(HcclGroupEnd(), HCCL_SUCCESS) << takeError();
  onThreads(kRanks, [&](uint32_t rank) {
    Stream stream;
    int32_t sent[2] = {static_cast<int32_t>(rank), static_cast<int32_t>(rank + 100)};
    int32_t received[2] = {-1, -1};
    const uint32_t next = (rank + 1) % kRanks;
    const uint32_t last = (rank + kRanks - 1) % kRanks;
    const auto t = HCCL_DATA_TYPE_INT32;
    // Two rings at once: receives first, which would deadlock outside of a group.
    EXPECT_EQ(HcclGroupStart(), HCCL_SUCCESS);
    EXPECT_EQ(HcclRecv(&received[0], 1, t, last, comms[rank], stream.handle), HCCL_SUCCESS);
    EXPECT_EQ(HcclRecv(&received[1], 1, t, next, comms[rank], stream.handle), HCCL_SUCCESS);
    EXPECT_EQ(HcclSend(&sent[0], 1, t, next, comms[rank], stream.handle), HCCL_SUCCESS);
    EXPECT_EQ(HcclSend(&sent[1], 1, t, last, comms[rank], stream.handle), HCCL_SUCCESS);
    EXPECT_EQ(HcclGroupEnd(), HCCL_SUCCESS) << takeError();
    stream.wait();
    EXPECT_EQ(received[0], static_cast<int32_t>(last));
    EXPECT_EQ(received[1], static_cast<int32_t>(next + 100));
    EXPECT_EQ(HcclCommDestroy(comms[rank]), HCCL_SUCCESS);
  });
}

TEST(Threads, SubCommunicators) {
  const std::vector<HcclComm> comms = initAll();
  onThreads(kRanks, [&](uint32_t rank) {
    // Even and odd ranks, in falling order.
    uint32_t members[2] = {rank % 2 + 2, rank % 2};
    const uint32_t place = rank < 2 ? 1 : 0;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    HcclComm parent = comms[rank];
    HcclComm sub = nullptr;
    ASSERT_EQ(HcclCreateSubCommConfig(&parent, 2, members, 40 + rank % 2, place, &config, &sub),
              HCCL_SUCCESS)
        << takeError();
    expectSum(sub, place, 2);
    expectSum(parent, rank, kRanks);
    EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
    EXPECT_EQ(HcclCommDestroy(parent), HCCL_SUCCESS);
  });
}

TEST(Threads, SeveralRoots) {
  HcclRootInfo roots[2];
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(HcclGetRootInfoScalable(&roots[0]), HCCL_SUCCESS);
  ASSERT_EQ(HcclGetRootInfoScalable(&roots[1]), HCCL_SUCCESS);
  onThreads(kRanks, [&](uint32_t rank) {
    HcclComm comm = nullptr;
    ASSERT_EQ(HcclCommInitRootInfoScalable(kRanks, 2, roots, rank, 0, nullptr, &comm), HCCL_SUCCESS)
        << takeError();
    expectSum(comm, rank, kRanks);
    EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
  });
}

TEST(Threads, DifferentSettingsAreRefused) {
  HcclRootInfo root;
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS);
  onThreads(2, [&](uint32_t rank) {
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    config.hcclBufferSize = 10 + rank;
    HcclComm comm = nullptr;
    EXPECT_EQ(HcclCommInitRootInfoConfig(2, &root, rank, &config, &comm), HCCL_E_PARA);
    const std::string error = takeError();
    EXPECT_THAT(error, ::testing::HasSubstr("EI0005"));
    EXPECT_THAT(error, ::testing::HasSubstr("inCclBufferSize"));
  });
}

TEST(Threads, SymmetricWindows) {
  const std::vector<HcclComm> comms = initAll();
  std::atomic<uint32_t> written{0};
  onThreads(kRanks, [&](uint32_t rank) {
    void* memory = nullptr;
    ASSERT_EQ(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    std::memset(memory, 0, 4096);
    HcclCommSymWindow window = nullptr;
    ASSERT_EQ(HcclCommSymWinRegister(comms[rank], memory, 4096, &window, 1), HCCL_SUCCESS)
        << takeError();
    const uint32_t next = (rank + 1) % kRanks;
    void* pointer = nullptr;
    ASSERT_EQ(HcclSymWinGetPeerPointer(window, 8, next, &pointer), HCCL_SUCCESS) << takeError();
    static_cast<std::atomic<uint64_t>*>(pointer)->store(rank + 1000);
    Stream stream;
    EXPECT_EQ(HcclBarrier(comms[rank], stream.handle), HCCL_SUCCESS) << takeError();
    stream.wait();
    EXPECT_EQ(static_cast<uint64_t*>(memory)[1], (rank + kRanks - 1) % kRanks + 1000);
    // Sizes that differ are refused on every rank, and the communicator stays usable.
    HcclCommSymWindow other = nullptr;
    EXPECT_EQ(HcclCommSymWinRegister(comms[rank], memory, 64 + rank, &other, 1), HCCL_E_PARA);
    expectSum(comms[rank], rank, kRanks);
    void* handle = nullptr;
    ASSERT_EQ(HcclCommRegister(comms[rank], memory, 4096, &handle, 0), HCCL_SUCCESS);
    uint32_t peers[] = {next, (rank + kRanks - 1) % kRanks};
    EXPECT_EQ(HcclCommExchangeMem(comms[rank], handle, peers, 2), HCCL_SUCCESS) << takeError();
    EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
    EXPECT_EQ(HcclCommDestroy(comms[rank]), HCCL_SUCCESS);
    EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
    written.fetch_add(1);
  });
  EXPECT_EQ(written.load(), kRanks);
}

TEST(Threads, RankTableWorld) {
  const std::string path = ::testing::TempDir() + "two_rank_table.json";
  std::ofstream(path) << R"({"status":"completed","version":"1.0","server_count":"1",
      "server_list":[{"server_id":"node","device":[{"device_id":"0","rank_id":"0"},
      {"device_id":"1","rank_id":"1"}]}]})";
  onThreads(2, [&](uint32_t rank) {
    HcclComm world = nullptr;
    ASSERT_EQ(HcclCommInitClusterInfo(path.c_str(), rank, &world), HCCL_SUCCESS) << takeError();
    expectSum(world, rank, 2);
    HcclComm found = nullptr;
    EXPECT_EQ(HcomGetCommHandleByGroup(nullptr, &found), HCCL_SUCCESS);
    EXPECT_EQ(found, world);
    uint32_t members[] = {0, 1};
    ASSERT_EQ(HcomCreateGroup("pair", 2, members), HCCL_SUCCESS) << takeError();
    uint32_t value = 99;
    EXPECT_EQ(HcomGetRankId("pair", &value), HCCL_SUCCESS);
    EXPECT_EQ(value, rank);
    EXPECT_EQ(HcomGetCommHandleByGroup("pair", &found), HCCL_SUCCESS);
    expectSum(found, rank, 2);
    EXPECT_EQ(HcomDestroy(), HCCL_SUCCESS) << takeError();
  });
}

// At the latest when the operation's own time is over. The communicator can be destroyed then.
TEST(Threads, APeerThatLeftFailsTheOperation) {
  HcclRootInfo root;
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS);
  onThreads(2, [&](uint32_t rank) {
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    config.hcclExecTimeOut = 1;
    HcclComm comm = nullptr;
    ASSERT_EQ(HcclCommInitRootInfoConfig(2, &root, rank, &config, &comm), HCCL_SUCCESS);
    expectSum(comm, rank, 2);
    if (rank == 0) {
      Stream stream;
      int32_t data[4] = {};
      ASSERT_EQ(
          HcclAllReduce(data, data, 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream.handle),
          HCCL_SUCCESS)
          << takeError();
      EXPECT_NE(aclrtSynchronizeStream(stream.handle), ACL_SUCCESS);
      HcclResult error = HCCL_SUCCESS;
      EXPECT_EQ(HcclGetCommAsyncError(comm, &error), HCCL_SUCCESS);
      EXPECT_NE(error, HCCL_SUCCESS);
      EXPECT_NE(HcclBarrier(comm, stream.handle), HCCL_SUCCESS);
    }
    EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
    takeError();
  });
}

TEST(Threads, EmptyPartsOfAlltoAllV) {
  const std::vector<HcclComm> comms = initAll();
  onThreads(kRanks, [&](uint32_t rank) {
    // Only 0 -> 1 carries data; ranks 2 and 3 have nothing at all.
    Stream stream;
    uint64_t zeros[kRanks] = {};
    uint64_t sends[kRanks] = {};
    uint64_t receives[kRanks] = {};
    if (rank == 0) sends[1] = 3;
    if (rank == 1) receives[0] = 3;
    int32_t data[3] = {11, 12, 13};
    int32_t out[3] = {};
    const auto t = HCCL_DATA_TYPE_INT32;
    ASSERT_EQ(HcclAlltoAllV(rank == 0 ? data : nullptr, sends, zeros, t, rank == 1 ? out : nullptr,
                            receives, zeros, t, comms[rank], stream.handle),
              HCCL_SUCCESS)
        << takeError();
    stream.wait();
    if (rank == 1) {
      EXPECT_EQ(out[2], 13);
    }
    expectSum(comms[rank], rank, kRanks);
    EXPECT_EQ(HcclCommDestroy(comms[rank]), HCCL_SUCCESS);
  });
}

}  // namespace
}  // namespace api_test
