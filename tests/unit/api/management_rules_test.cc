// Rules of communicator management, settings and groups that need no second rank.
#include <cstring>

#include "tests/unit/api/support.h"

namespace api_test {
namespace {

class ManagementRules : public OneRank {
 protected:
  static HcclCommConfig config() {
    HcclCommConfig c;
    HcclCommConfigInit(&c);
    return c;
  }
  // Tries to make a communicator of one rank; a made one is destroyed.
  HcclResult init(const HcclCommConfig* c) {
    HcclRootInfo root;
    EXPECT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS);
    HcclComm made = nullptr;
    const HcclResult result = HcclCommInitRootInfoConfig(1, &root, 0, c, &made);
    if (result == HCCL_SUCCESS) {
      EXPECT_EQ(HcclCommDestroy(made), HCCL_SUCCESS);
    }
    return result;
  }
  HcclResult initWith(const std::function<void(HcclCommConfig&)>& change) {
    HcclCommConfig c = config();
    change(c);
    return init(&c);
  }
};

TEST_F(ManagementRules, Initialisation) {
  HcclRootInfo root{};
  HcclComm made = nullptr;
  int32_t devices[] = {0, 0};
  int32_t unknown[] = {0, static_cast<int32_t>(kDevices)};
  HcclComm comms[2];
  checkCases({
      {"root info", [&] { return HcclGetRootInfo(nullptr); }, HCCL_E_PTR, {"EI0003", "rootInfo"}},
      {"comm", [&] { return HcclCommInitRootInfo(1, &root, 0, nullptr); }, HCCL_E_PTR, {"comm"}},
      {"rootInfo",
       [&] { return HcclCommInitRootInfo(1, nullptr, 0, &made); },
       HCCL_E_PTR,
       {"rootInfo"}},
      {"nRanks", [&] { return HcclCommInitRootInfo(0, &root, 0, &made); }, HCCL_E_PARA, {"nRanks"}},
      {"rank",
       [&] { return HcclCommInitRootInfo(2, &root, 2, &made); },
       HCCL_E_PARA,
       {"EI0003", "parameter rank"}},
      {"made up",
       [&] { return HcclCommInitRootInfo(2, &root, 1, &made); },
       HCCL_E_PARA,
       {"EI0003", "rootInfo"}},
      {"config",
       [&] { return HcclCommInitRootInfoConfig(1, &root, 0, nullptr, &made); },
       HCCL_E_PTR,
       {"config"}},
      {"nRoot 0",
       [&] { return HcclCommInitRootInfoScalable(1, 0, &root, 0, 0, nullptr, &made); },
       HCCL_E_PARA,
       {"nRoot"}},
      {"nRoot 2",
       [&] { return HcclCommInitRootInfoScalable(1, 2, &root, 0, 0, nullptr, &made); },
       HCCL_E_PARA,
       {"nRoot"}},
      {"nExtRoot",
       [&] { return HcclCommInitRootInfoScalable(1, 1, &root, 0, 1, nullptr, &made); },
       HCCL_E_PARA,
       {"nExtRoot"}},
      {"InitAll ndev", [&] { return HcclCommInitAll(0, devices, comms); }, HCCL_E_PARA, {"ndev"}},
      {"InitAll devices",
       [&] { return HcclCommInitAll(2, nullptr, comms); },
       HCCL_E_PTR,
       {"devices"}},
      {"InitAll comms",
       [&] { return HcclCommInitAll(2, devices, nullptr); },
       HCCL_E_PTR,
       {"comms"}},
      {"InitAll twice",
       [&] { return HcclCommInitAll(2, devices, comms); },
       HCCL_E_PARA,
       {"EI0003", "devices"}},
      {"InitAll unknown",
       [&] { return HcclCommInitAll(2, unknown, comms); },
       HCCL_E_PARA,
       {"devices"}},
      {"table",
       [&] { return HcclCommInitClusterInfo(nullptr, 0, &made); },
       HCCL_E_PTR,
       {"clusterInfo"}},
      {"table comm",
       [&] { return HcclCommInitClusterInfo("x.json", 0, nullptr); },
       HCCL_E_PTR,
       {"comm"}},
      {"table path",
       [&] { return HcclCommInitClusterInfo("/no/such.json", 0, &made); },
       HCCL_E_PARA,
       {"EI0004"}},
      {"destroy NULL", [&] { return HcclCommDestroy(nullptr); }, HCCL_SUCCESS, {}},
      {"destroy unknown",
       [&] { return HcclCommDestroy(strangeHandle()); },
       HCCL_E_PARA,
       {"EI0003"}},
  });
}

TEST_F(ManagementRules, CommConfig) {
  EXPECT_EQ(init(nullptr), HCCL_E_PTR);
  HcclCommConfig zeros{};
  checkCases({
      {"untouched", [&] { return initWith([](HcclCommConfig&) {}); }, HCCL_SUCCESS, {}},
      {"magic", [&] { return init(&zeros); }, HCCL_E_PARA, {"EI0003", "magic word"}},
      {"buffer size 0",
       [&] { return initWith([](auto& c) { c.hcclBufferSize = 0; }); },
       HCCL_E_PARA,
       {"EI0003", "should be equal to or greater than 1(MB)."}},
      {"deterministic 3",
       [&] { return initWith([](auto& c) { c.hcclDeterministic = 3; }); },
       HCCL_E_PARA,
       {"EI0003", "hcclDeterministic"}},
      {"deterministic 2",
       [&] { return initWith([](auto& c) { c.hcclDeterministic = 2; }); },
       HCCL_SUCCESS,
       {}},
      {"zero copy 2",
       [&] { return initWith([](auto& c) { c.aclGraphZeroCopyEnable = 2; }); },
       HCCL_E_PARA,
       {"aclGraphZeroCopyEnable"}},
      {"time-out",
       [&] { return initWith([](auto& c) { c.hcclExecTimeOut = -5; }); },
       HCCL_SUCCESS,
       {}},
      {"expansion mode",
       [&] { return initWith([](auto& c) { c.hcclOpExpansionMode = 77; }); },
       HCCL_SUCCESS,
       {}},
      {"algorithm",
       [&] { return initWith([](auto& c) { std::strcpy(c.hcclAlgo, "no such"); }); },
       HCCL_E_PARA,
       {"hcclAlgo"}},
      {"retry",
       [&] { return initWith([](auto& c) { std::strcpy(c.hcclRetryEnable, "L9:1"); }); },
       HCCL_E_PARA,
       {"hcclRetryEnable"}},
      {"traffic class",
       [&] { return initWith([](auto& c) { c.hcclRdmaTrafficClass = 5; }); },
       HCCL_E_PARA,
       {"hcclRdmaTrafficClass"}},
      {"endless name",
       [&] {
         return initWith([](auto& c) { std::memset(c.hcclCommName, 'a', sizeof(c.hcclCommName)); });
       },
       HCCL_E_PARA,
       {"hcclCommName"}},
      // A caller of version 1 knows the first two fields only: what follows them does not count.
      {"old caller",
       [&] {
         return initWith([](auto& c) {
           const size_t size = offsetof(HcclCommConfig, hcclCommName);
           const uint32_t version = 1;
           std::memcpy(c.reserved, &size, sizeof(size));
           std::memcpy(c.reserved + 12, &version, sizeof(version));
           std::memset(c.hcclCommName, 'a', sizeof(c) - size);
         });
       },
       HCCL_SUCCESS,
       {}},
      {"newer caller",
       [&] {
         return initWith([](auto& c) {
           const size_t size = sizeof(c) + 100;
           const uint32_t version = 99;
           std::memcpy(c.reserved, &size, sizeof(size));
           std::memcpy(c.reserved + 12, &version, sizeof(version));
         });
       },
       HCCL_SUCCESS,
       {}},
  });
}

TEST_F(ManagementRules, ConfiguredName) {
  HcclCommConfig c = config();
  std::strcpy(c.hcclCommName, "my group");
  std::strcpy(c.hcclAlgo, "level0:NA;level1:ring");
  HcclRootInfo root;
  ASSERT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS);
  HcclComm named = nullptr;
  ASSERT_EQ(HcclCommInitRootInfoConfig(1, &root, 0, &c, &named), HCCL_SUCCESS) << takeError();
  char name[COMM_NAME_MAX_LENGTH];
  EXPECT_EQ(HcclGetCommName(named, name), HCCL_SUCCESS);
  EXPECT_STREQ(name, "my group");
  EXPECT_EQ(init(&c), HCCL_E_PARA);  // the name is in use
  EXPECT_THAT(takeError(), ::testing::HasSubstr("hcclCommName"));

  char algorithm[HCCL_COMM_ALGO_MAX_LENGTH];
  EXPECT_EQ(HcclConfigGetInfo(named, HCCL_CONFIG_TYPE_HCCL_ALGO, sizeof(algorithm), algorithm),
            HCCL_SUCCESS);
  EXPECT_STREQ(algorithm, "level0:NA;level1:ring");
  EXPECT_EQ(HcclConfigGetInfo(named, HCCL_CONFIG_TYPE_HCCL_ALGO, 10, algorithm), HCCL_E_PARA);
  HcclConfigTypeOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_INVALID;
  EXPECT_EQ(HcclConfigGetInfo(named, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, sizeof(mode), &mode),
            HCCL_SUCCESS);
  EXPECT_EQ(mode, HCCL_OP_EXPANSION_MODE_HOST);
  EXPECT_EQ(HcclCommDestroy(named), HCCL_SUCCESS);
  EXPECT_EQ(init(&c), HCCL_SUCCESS);  // free again
}

TEST_F(ManagementRules, SubCommunicators) {
  uint32_t own[] = {0};
  uint32_t twice[] = {0, 0};
  uint32_t other[] = {1};
  HcclComm sub = nullptr;
  HcclComm none = nullptr;
  HcclComm strange = strangeHandle();
  HcclCommConfig c = config();
  const auto create = [&](HcclComm* parent, uint32_t n, uint32_t* ids, uint64_t id, uint32_t rank) {
    return HcclCreateSubCommConfig(parent, n, ids, id, rank, &c, &sub);
  };
  checkCases({
      {"no member", [&] { return create(&comm, 1, nullptr, 0xFFFFFFFF, 0); }, HCCL_SUCCESS, {}},
      {"no list", [&] { return create(&comm, 1, nullptr, 5, 0); }, HCCL_E_PARA, {"rankIds"}},
      {"no id", [&] { return create(&comm, 1, own, 0xFFFFFFFF, 0); }, HCCL_E_PARA, {"subCommId"}},
      {"rankNum", [&] { return create(&comm, 0, own, 5, 0); }, HCCL_E_PARA, {"rankNum"}},
      {"rank", [&] { return create(&comm, 1, own, 5, 1); }, HCCL_E_PARA, {"subCommRankId"}},
      {"twice", [&] { return create(&comm, 2, twice, 5, 0); }, HCCL_E_PARA, {"rankIds"}},
      {"unknown rank", [&] { return create(&comm, 1, other, 5, 0); }, HCCL_E_PARA, {"rankIds"}},
      {"parent pointer", [&] { return create(nullptr, 1, own, 5, 0); }, HCCL_E_PTR, {"comm"}},
      {"parent", [&] { return create(&none, 1, own, 5, 0); }, HCCL_E_PTR, {"comm"}},
      {"unknown parent", [&] { return create(&strange, 1, own, 5, 0); }, HCCL_E_PARA, {"comm"}},
      {"made", [&] { return create(&comm, 1, own, 5, 0); }, HCCL_SUCCESS, {}},
      {"same again", [&] { return create(&comm, 1, own, 5, 0); }, HCCL_E_PARA, {"hcclCommName"}},
      {"of a sub", [&] { return create(&sub, 1, own, 6, 0); }, HCCL_E_PARA, {"sub-communicator"}},
  });
  char parentName[COMM_NAME_MAX_LENGTH];
  char name[COMM_NAME_MAX_LENGTH];
  ASSERT_EQ(HcclGetCommName(comm, parentName), HCCL_SUCCESS);
  ASSERT_EQ(HcclGetCommName(sub, name), HCCL_SUCCESS);
  EXPECT_EQ(std::string(name), std::string(parentName) + "_sub_5");
  EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
}

TEST_F(ManagementRules, ProcessSettings) {
  HcclConfigValue value{7};
  const auto set = [](int32_t level) { return HcclSetConfig(HCCL_DETERMINISTIC, {level}); };
  EXPECT_EQ(HcclGetConfig(HCCL_DETERMINISTIC, &value), HCCL_SUCCESS);
  EXPECT_EQ(value.value, 0);
  checkCases({
      {"1", [&] { return set(1); }, HCCL_SUCCESS, {}},
      {"2", [&] { return set(2); }, HCCL_SUCCESS, {}},
      {"3", [&] { return set(3); }, HCCL_E_PARA, {"HCCL_DETERMINISTIC"}},
      {"-1", [&] { return set(-1); }, HCCL_E_PARA, {}},
      {"unknown", [&] { return HcclSetConfig(HCCL_CONFIG_RESERVED, {0}); }, HCCL_E_PARA, {}},
      {"NULL", [&] { return HcclGetConfig(HCCL_DETERMINISTIC, nullptr); }, HCCL_E_PTR, {}},
  });
  EXPECT_EQ(HcclGetConfig(HCCL_DETERMINISTIC, &value), HCCL_SUCCESS);
  EXPECT_EQ(value.value, 2);
  EXPECT_EQ(set(0), HCCL_SUCCESS);
  EXPECT_EQ(HcclGetCommConfigCapability(), 12U);
}

TEST_F(ManagementRules, ErrorStrings) {
  EXPECT_STREQ(HcclGetErrorString(HCCL_SUCCESS), "no error");
  EXPECT_STREQ(HcclGetErrorString(HCCL_E_TIMEOUT), "timeout");
  EXPECT_STREQ(HcclGetErrorString(HCCL_E_REMOTE), "error cqe");
  EXPECT_STREQ(HcclGetErrorString(HCCL_E_OOM), "out of memory");
  EXPECT_STREQ(HcclGetErrorString(HCCL_E_IN_STATUS), "unknown err");
  EXPECT_STREQ(HcclGetErrorString(static_cast<HcclResult>(25)), "unknown err");
  EXPECT_STREQ(HcclGetErrorString(HCCL_E_RESERVED), "unknown error");
  EXPECT_STREQ(HcclGetErrorString(static_cast<HcclResult>(-1)), "unknown error");
}

TEST_F(ManagementRules, QueriesCheckTheirPointers) {
  uint32_t value = 0;
  HcclResult error = HCCL_SUCCESS;
  HcclCommStatus status = HCCL_COMM_STATUS_READY;
  const std::string longName(160, 'x');
  const auto callback = [](HcclComm, HcclCommStatePhase, void*) { return HCCL_SUCCESS; };
  bool backup[] = {true};
  uint32_t ranks[] = {0};
  checkCases({
      {"size", [&] { return HcclGetRankSize(comm, nullptr); }, HCCL_E_PTR, {"rankSize"}},
      {"size comm", [&] { return HcclGetRankSize(nullptr, &value); }, HCCL_E_PTR, {"comm"}},
      {"size unknown", [&] { return HcclGetRankSize(strangeHandle(), &value); }, HCCL_E_PARA, {}},
      {"id", [&] { return HcclGetRankId(comm, nullptr); }, HCCL_E_PTR, {"rank"}},
      {"name", [&] { return HcclGetCommName(comm, nullptr); }, HCCL_E_PTR, {"commName"}},
      {"async", [&] { return HcclGetCommAsyncError(comm, nullptr); }, HCCL_E_PTR, {"asyncError"}},
      {"async comm", [&] { return HcclGetCommAsyncError(nullptr, &error); }, HCCL_E_PTR, {}},
      {"status", [&] { return HcclCommGetStatus("x", nullptr); }, HCCL_E_PTR, {"status"}},
      {"status id", [&] { return HcclCommGetStatus(nullptr, &status); }, HCCL_E_PTR, {"commId"}},
      {"suspend", [&] { return HcclCommSuspend(nullptr); }, HCCL_E_PTR, {}},
      {"resume", [&] { return HcclCommResume(strangeHandle()); }, HCCL_E_PARA, {}},
      {"callback",
       [&] { return HcclCommRegCommStateCallback("x", nullptr, nullptr); },
       HCCL_E_PTR,
       {"cb"}},
      {"callback name",
       [&] { return HcclCommRegCommStateCallback(longName.c_str(), callback, nullptr); },
       HCCL_E_PARA,
       {"regName"}},
      {"backup",
       [&] { return HcclCommWorkingDevNicSet(comm, ranks, backup, 1); },
       HCCL_E_NOT_SUPPORT,
       {"useBackup"}},
      {"backup ranks",
       [&] { return HcclCommWorkingDevNicSet(comm, ranks, backup, 2); },
       HCCL_E_PARA,
       {"nRanks"}},
  });
}

TEST_F(ManagementRules, Groups) {
  bool open = true;
  EXPECT_EQ(HcclGroupStatusGet(&open), HCCL_SUCCESS);
  EXPECT_FALSE(open);
  EXPECT_EQ(HcclGroupEnd(), HCCL_E_NOT_SUPPORT);
  EXPECT_THAT(takeError(), ::testing::HasSubstr("EI0003"));
  EXPECT_EQ(HcclGroupStart(), HCCL_SUCCESS);
  EXPECT_EQ(HcclGroupStart(), HCCL_SUCCESS);
  EXPECT_EQ(HcclGroupEnd(), HCCL_SUCCESS);
  EXPECT_EQ(HcclGroupStatusGet(&open), HCCL_SUCCESS);
  EXPECT_TRUE(open);
  int32_t in[4] = {1, 2, 3, 4};
  int32_t out[4] = {};
  EXPECT_EQ(HcclAllReduce(in, out, 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream),
            HCCL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(out[3], 0);  // queued only
  EXPECT_EQ(HcclGroupEnd(), HCCL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(out[3], 4);

  HcclRootInfo root;
  ASSERT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS);
  HcclComm made = nullptr;
  HcclSendRecvItem item{HCCL_SEND, in, 1, HCCL_DATA_TYPE_INT32, 0};
  EXPECT_EQ(HcclGroupStart(), HCCL_SUCCESS);
  EXPECT_EQ(HcclAllReduce(in, out, 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream),
            HCCL_SUCCESS);
  EXPECT_EQ(HcclCommInitRootInfo(1, &root, 0, &made), HCCL_E_NOT_SUPPORT);  // kinds are mixed
  EXPECT_EQ(HcclGroupEnd(), HCCL_E_NOT_SUPPORT);
  EXPECT_EQ(HcclGroupStart(), HCCL_SUCCESS);
  EXPECT_EQ(HcclBatchSendRecv(&item, 1, comm, stream), HCCL_E_NOT_SUPPORT);
  EXPECT_EQ(HcclGroupEnd(), HCCL_E_NOT_SUPPORT);
  EXPECT_EQ(HcclGroupStart(), HCCL_SUCCESS);
  EXPECT_EQ(HcclSend(in, 4, HCCL_DATA_TYPE_INT32, 5, comm, stream), HCCL_E_PARA);
  EXPECT_EQ(HcclGroupEnd(), HCCL_E_PARA);
  EXPECT_EQ(HcclGroupEnd(), HCCL_E_NOT_SUPPORT);
}

}  // namespace
}  // namespace api_test
