// Rules of memory, rank-graph, hcom and rank-table calls that need no second rank.
#include <fstream>

#include "tests/unit/api/support.h"

namespace api_test {
namespace {

using ResourceRules = OneRank;

TEST_F(ResourceRules, Memory) {
  std::vector<char> memory(4096);
  char* const base = memory.data();
  HcclCommSymWindow window = nullptr;
  HcclCommSymWindow found = nullptr;
  void* handle = nullptr;
  void* pointer = nullptr;
  size_t offset = 0;
  uint32_t self[] = {0};
  checkCases({
      {"flag 0",
       [&] { return HcclCommSymWinRegister(comm, base, 4096, &window, 0); },
       HCCL_E_PARA,
       {"EI0003", "flag"}},
      {"no address",
       [&] { return HcclCommSymWinRegister(comm, nullptr, 4096, &window, 1); },
       HCCL_E_PTR,
       {"addr"}},
      {"no size",
       [&] { return HcclCommSymWinRegister(comm, base, 0, &window, 1); },
       HCCL_E_PARA,
       {"size"}},
      {"too large",
       [&] { return HcclCommSymWinRegister(comm, base, 17ULL << 30, &window, 1); },
       HCCL_E_PARA,
       {"16 GB"}},
      {"window",
       [&] { return HcclCommSymWinRegister(comm, base, 4096, &window, 1); },
       HCCL_SUCCESS,
       {}},
      {"outside",
       [&] { return HcclCommSymWinGet(comm, base + 4000, 97, &found, &offset); },
       HCCL_E_NOT_FOUND,
       {}},
      {"inside",
       [&] { return HcclCommSymWinGet(comm, base + 4000, 96, &found, &offset); },
       HCCL_SUCCESS,
       {}},
      {"own pointer",
       [&] { return HcclSymWinGetPeerPointer(window, 8, 0, &pointer); },
       HCCL_SUCCESS,
       {}},
      {"offset",
       [&] { return HcclSymWinGetPeerPointer(window, 4096, 0, &handle); },
       HCCL_E_PARA,
       {"offset"}},
      {"peer",
       [&] { return HcclSymWinGetPeerPointer(window, 8, 1, &handle); },
       HCCL_E_PARA,
       {"peerRank"}},
      {"window NULL",
       [&] { return HcclSymWinGetPeerPointer(nullptr, 8, 0, &handle); },
       HCCL_E_PTR,
       {"winHandle"}},
  });
  EXPECT_EQ(found, window);
  EXPECT_EQ(offset, 4000U);
  EXPECT_EQ(pointer, base + 8);
  const auto range = [&](char* b, size_t n) { return HcclCommSetMemoryRange(comm, b, n, 0, 0); };
  const auto activate = [&](char* b, size_t n) {
    return HcclCommActivateCommMemory(comm, b, n, 0, strangeHandle(), 0);
  };
  checkCases({
      {"freed", [&] { return HcclCommSymWinDeregister(window); }, HCCL_SUCCESS, {}},
      {"freed twice", [&] { return HcclCommSymWinDeregister(window); }, HCCL_E_PARA, {"winHandle"}},
      {"freed pointer",
       [&] { return HcclSymWinGetPeerPointer(window, 8, 0, &pointer); },
       HCCL_E_PARA,
       {}},
      {"register flag",
       [&] { return HcclCommRegister(comm, base, 4096, &handle, 1); },
       HCCL_E_PARA,
       {"flag"}},
      {"register",
       [&] { return HcclCommRegister(comm, base, 4096, &handle, 0); },
       HCCL_SUCCESS,
       {}},
      {"exchange", [&] { return HcclCommExchangeMem(comm, handle, self, 1); }, HCCL_SUCCESS, {}},
      {"exchange unknown",
       [&] { return HcclCommExchangeMem(comm, base, self, 1); },
       HCCL_E_PARA,
       {}},
      {"deregister", [&] { return HcclCommDeregister(comm, handle); }, HCCL_SUCCESS, {}},
      {"deregister twice", [&] { return HcclCommDeregister(comm, handle); }, HCCL_E_PARA, {}},
      {"alignment",
       [&] { return HcclCommSetMemoryRange(comm, base, 4096, 64, 0); },
       HCCL_E_PARA,
       {"alignment"}},
      {"range", [&] { return range(base, 2048); }, HCCL_SUCCESS, {}},
      {"overlap", [&] { return range(base + 2047, 10); }, HCCL_E_PARA, {"baseVirPtr"}},
      {"neighbour", [&] { return range(base + 2048, 10); }, HCCL_SUCCESS, {}},
      {"active", [&] { return activate(base + 100, 100); }, HCCL_SUCCESS, {}},
      {"active twice", [&] { return activate(base + 150, 10); }, HCCL_E_PARA, {"virPtr"}},
      {"active outside", [&] { return activate(base + 2000, 100); }, HCCL_E_PARA, {"virPtr"}},
      {"unset active", [&] { return HcclCommUnsetMemoryRange(comm, base); }, HCCL_E_PARA, {}},
      {"passive", [&] { return HcclCommDeactivateCommMemory(comm, base + 100); }, HCCL_SUCCESS, {}},
      {"passive twice",
       [&] { return HcclCommDeactivateCommMemory(comm, base + 100); },
       HCCL_E_PARA,
       {}},
      {"unset", [&] { return HcclCommUnsetMemoryRange(comm, base); }, HCCL_SUCCESS, {}},
      {"unset twice", [&] { return HcclCommUnsetMemoryRange(comm, base); }, HCCL_E_PARA, {}},
  });
}

TEST_F(ResourceRules, RankGraphOfOneRank) {
  uint32_t* array = nullptr;
  uint32_t n = 0;
  ASSERT_EQ(HcclRankGraphGetLayers(comm, &array, &n), HCCL_SUCCESS);
  ASSERT_EQ(n, 1U);
  EXPECT_EQ(array[0], 0U);
  ASSERT_EQ(HcclRankGraphGetRanksByLayer(comm, 0, &array, &n), HCCL_SUCCESS);
  ASSERT_EQ(n, 1U);
  EXPECT_EQ(array[0], 0U);
  EXPECT_EQ(HcclRankGraphGetRanksByLayer(comm, 1, &array, &n), HCCL_E_PARA);
  EXPECT_EQ(HcclRankGraphGetRanksByLayer(comm, 0, nullptr, &n), HCCL_E_PTR);
  ASSERT_EQ(HcclRankGraphGetInstSizeListByLayer(comm, 0, &array, &n), HCCL_SUCCESS);
  ASSERT_EQ(n, 1U);
  EXPECT_EQ(array[0], 1U);
  CommTopo shape = COMM_TOPO_RESERVED;
  EXPECT_EQ(HcclRankGraphGetTopoType(comm, 0, 0, &shape), HCCL_SUCCESS);
  EXPECT_EQ(shape, COMM_TOPO_1DMESH);
  EXPECT_EQ(HcclRankGraphGetTopoType(comm, 0, 1, &shape), HCCL_E_PARA);
  CommLink* links = nullptr;
  EXPECT_EQ(HcclRankGraphGetLinks(comm, 0, 0, 0, &links, &n), HCCL_SUCCESS);
  EXPECT_EQ(n, 0U);
  EXPECT_EQ(HcclRankGraphGetLinks(comm, 0, 0, 1, &links, &n), HCCL_E_PARA);
  HcclHeterogMode mode = HCCL_HETEROG_MODE_INVALID;
  EXPECT_EQ(HcclGetHeterogMode(comm, &mode), HCCL_SUCCESS);
  EXPECT_EQ(mode, HCCL_HETEROG_MODE_HOMOGENEOUS);
  EndpointDesc description;
  n = 1;
  ASSERT_EQ(HcclRankGraphGetEndpointDesc(comm, 0, 0, &n, &description), HCCL_SUCCESS);
  EXPECT_EQ(description.protocol, COMM_PROTOCOL_PCIE);
  EndpointAttrLocation location = 99;
  EXPECT_EQ(HcclRankGraphGetEndpointInfo(comm, 0, &description, ENDPOINT_ATTR_LOCATION,
                                         sizeof(location), &location),
            HCCL_SUCCESS);
  EXPECT_EQ(location, static_cast<uint32_t>(ENDPOINT_LOC_TYPE_HOST));
}

TEST_F(ResourceRules, HcomNeedsAWorld) {
  uint32_t value = 0;
  EXPECT_EQ(HcomGetRankSize(nullptr, &value), HCCL_E_UNAVAIL);
  EXPECT_EQ(HcomDestroy(), HCCL_E_UNAVAIL);
  EXPECT_EQ(HcomInitByRankTable(nullptr, 0), HCCL_E_PTR);
  const char* table = R"({"status":"completed","version":"1.0","server_count":"1","server_list":[
      {"server_id":"node","device":[{"device_id":"0","rank_id":"0"}]}]})";
  ASSERT_EQ(HcomInitByRankTable(table, 0), HCCL_SUCCESS) << takeError();
  takeError();
  EXPECT_EQ(HcomInitByRankTable(table, 0), HCCL_E_UNAVAIL);
  EXPECT_THAT(takeError(), ::testing::HasSubstr("multiple initialization"));
  EXPECT_EQ(HcomGetRankSize(nullptr, &value), HCCL_SUCCESS);
  EXPECT_EQ(value, 1U);
  EXPECT_EQ(HcomGetLocalRankSize("hccl_world_group", &value), HCCL_SUCCESS);
  EXPECT_EQ(value, 1U);
  uint32_t members[] = {0};
  EXPECT_EQ(HcomCreateGroup("small", 1, members), HCCL_SUCCESS) << takeError();
  EXPECT_EQ(HcomGetWorldRankFromGroupRank("small", 0, &value), HCCL_SUCCESS);
  EXPECT_EQ(value, 0U);
  EXPECT_EQ(HcomGetGroupRankFromWorldRank(1, "small", &value), HCCL_E_PARA);
  EXPECT_EQ(HcomGetRankId("nobody", &value), HCCL_E_PARA);
  EXPECT_EQ(HcomDestroyGroup(nullptr), HCCL_E_PARA);
  HcclComm handle = nullptr;
  EXPECT_EQ(HcomGetCommHandleByGroup("small", &handle), HCCL_SUCCESS);
  EXPECT_EQ(HcclGetRankSize(handle, &value), HCCL_SUCCESS);
  EXPECT_EQ(HcomDestroy(), HCCL_SUCCESS) << takeError();
  EXPECT_EQ(HcclGetRankSize(handle, &value), HCCL_E_PARA);
  EXPECT_EQ(HcomGetRankSize(nullptr, &value), HCCL_E_UNAVAIL);
}

TEST_F(ResourceRules, RankTableFile) {
  const std::string path = ::testing::TempDir() + "one_rank_table.json";
  std::ofstream(path) << R"({"status":"completed","version":"1.0","server_count":"1",
      "server_list":[{"server_id":"node","device":[{"device_id":"0","rank_id":"0"}]}]})";
  HcclComm world = nullptr;
  ASSERT_EQ(HcclCommInitClusterInfo(path.c_str(), 0, &world), HCCL_SUCCESS) << takeError();
  char name[COMM_NAME_MAX_LENGTH];
  EXPECT_EQ(HcclGetCommName(world, name), HCCL_SUCCESS);
  EXPECT_STREQ(name, "hccl_world_group");
  HcclComm second = nullptr;
  EXPECT_EQ(HcclCommInitClusterInfo(path.c_str(), 0, &second), HCCL_E_UNAVAIL);
  EXPECT_THAT(takeError(), ::testing::HasSubstr("EI0003"));
  EXPECT_EQ(HcclCommDestroy(world), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommInitClusterInfo(path.c_str(), 1, &second), HCCL_E_PARA);
  EXPECT_THAT(takeError(), ::testing::HasSubstr("EI0014"));
}

}  // namespace
}  // namespace api_test
