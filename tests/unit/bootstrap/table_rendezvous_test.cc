// Rank-table communicators: where ranks meet and what happens when two jobs want one port.
#include "tests/unit/bootstrap/rendezvous_fixture.h"

namespace hccl {
namespace {

using ::testing::HasSubstr;

class TableRendezvous : public RootFixture {
 protected:
  void SetUp() override {
    env.hostPortRange.reset();
    options.environment = &env;
  }

  static Cluster tableOf(uint32_t count, const std::string& server, uint16_t hostPort = 0) {
    Cluster table;
    table.version = "1.0";
    for (uint32_t rank = 0; rank < count; ++rank) {
      RankInfo info;
      info.rank = rank;
      info.serverId = server;
      info.deviceId = rank;
      if (rank == 0) info.hostPort = hostPort;
      table.ranks.push_back(info);
    }
    return table;
  }

  Result<Cluster> join(const Cluster& table, uint32_t rank, double seconds = 20,
                       const std::string& agreed = "") {
    RankInfo mine = table.ranks[rank];
    mine.endpoint = "at " + std::to_string(rank);
    return joinByTable(table, rank, mine, agreed, Deadline::after(seconds), options);
  }

  static uint16_t freePort() {
    auto probe = listenTcp(IpAddress::loopback(AF_INET), 0);
    EXPECT_TRUE(probe.isOk());
    return localAddress(probe->get())->port;
  }

  static void expectEndpoints(const Result<Cluster>& result, Cluster table) {
    ASSERT_TRUE(result.isOk()) << result.status().text();
    for (RankInfo& info : table.ranks) info.endpoint = "at " + std::to_string(info.rank);
    EXPECT_EQ(result->ranks, table.ranks);
    EXPECT_EQ(result->version, table.version);
  }
};

TEST_F(TableRendezvous, OneServerWithoutAddresses) {
  const Cluster table = tableOf(5, "node");
  for (const auto& result : joinAll(5, [&](uint32_t i) { return join(table, i); })) {
    expectEndpoints(result, table);
  }
}

TEST_F(TableRendezvous, AgainAndAgain) {
  const Cluster table = tableOf(3, "node");
  for (int round = 0; round < 30; ++round) {
    for (const auto& result : joinAll(3, [&](uint32_t i) { return join(table, i); })) {
      expectEndpoints(result, table);
    }
  }
  EXPECT_TRUE(rootsEnd());
}

TEST_F(TableRendezvous, OneServerWithAnAddressOfNowhere) {
  Cluster table = tableOf(2, "node");
  table.ranks[0].deviceIps = {"192.0.2.1"};
  table.ranks[1].deviceIps = {"192.0.2.2"};
  for (const auto& result : joinAll(2, [&](uint32_t i) { return join(table, i); })) {
    expectEndpoints(result, table);
  }
}

TEST_F(TableRendezvous, TwoServersOnLoopback) {
  Cluster table = tableOf(4, "a");
  table.ranks[2].serverId = table.ranks[3].serverId = "b";
  for (RankInfo& info : table.ranks) info.hostIp = info.rank < 2 ? "127.0.0.1" : "127.0.0.2";
  for (const auto& result : joinAll(4, [&](uint32_t i) { return join(table, i); })) {
    expectEndpoints(result, table);
  }
}

TEST_F(TableRendezvous, TwoServersNeedAnAddressOfRankZero) {
  Cluster table = tableOf(2, "a");
  table.ranks[1].serverId = "b";
  const Status status = join(table, 1).status();
  EXPECT_EQ(status.eiCode(), 14);
  EXPECT_THAT(status.text(), HasSubstr("host_ip"));
}

TEST_F(TableRendezvous, HostPortOfRankZero) {
  const uint16_t port = freePort();
  const Cluster table = tableOf(3, "node", port);
  for (const auto& result : joinAll(3, [&](uint32_t i) { return join(table, i); })) {
    expectEndpoints(result, table);
  }
}

TEST_F(TableRendezvous, RankZeroMayComeLast) {
  const Cluster table = tableOf(2, "node");
  Result<Cluster> early = Status(HCCL_E_INTERNAL, "not run");
  std::thread agent([&] { early = join(table, 1); });
  const auto late = join(table, 0);
  agent.join();
  expectEndpoints(early, table);
  expectEndpoints(late, table);
}

TEST_F(TableRendezvous, ManyJobsAtOnceOnDefaultPorts) {
  std::vector<Cluster> tables;
  for (int i = 0; i < 8; ++i) tables.push_back(tableOf(2, "job" + std::to_string(i)));
  const auto results = joinAll(16, [&](uint32_t i) { return join(tables[i / 2], i % 2); });
  for (uint32_t i = 0; i < 16; ++i) expectEndpoints(results[i], tables[i / 2]);
}

TEST_F(TableRendezvous, AnotherTableOnTheSamePortIsEi0019) {
  const uint16_t port = freePort();
  const Cluster ours = tableOf(2, "ours", port);
  const Cluster theirs = tableOf(2, "theirs", port);
  Result<Cluster> first = Status(HCCL_E_INTERNAL, "not run");
  std::thread owner([&] { first = join(ours, 0); });
  // Once a listener is there, both sides of the other job are told.
  while (!connectTcp({IpAddress::loopback(AF_INET), port}, Deadline::after(1)).isOk()) {
  }
  const Status server = join(theirs, 0).status();
  EXPECT_EQ(server.code(), HCCL_E_UNAVAIL);
  EXPECT_EQ(server.eiCode(), 19);
  const Status agent = join(theirs, 1, 1).status();
  EXPECT_EQ(agent.code(), HCCL_E_UNAVAIL);
  EXPECT_EQ(agent.eiCode(), 19);
  EXPECT_THAT(agent.text(), HasSubstr("127.0.0.1 and port " + std::to_string(port)));
  const auto second = join(ours, 1);
  owner.join();
  expectEndpoints(first, ours);
  expectEndpoints(second, ours);
}

TEST_F(TableRendezvous, ARangeIsUsed) {
  const uint16_t port = freePort();
  env.hostPortRange = PortRanges::parse(std::to_string(port));
  const Cluster table = tableOf(2, "node");
  Result<Cluster> agent = Status(HCCL_E_INTERNAL, "not run");
  std::thread server([&] { agent = join(table, 0); });
  while (!connectTcp({IpAddress::loopback(AF_INET), port}, Deadline::after(1)).isOk()) {
  }
  expectEndpoints(join(table, 1), table);
  server.join();
  expectEndpoints(agent, table);
}

TEST_F(TableRendezvous, FailureThenSuccessOnTheSamePort) {
  const Cluster table = tableOf(2, "node", freePort());
  const auto failed = joinAll(
      2, [&](uint32_t i) { return join(table, i, 20, i == 0 ? R"({"x":1})" : R"({"x":2})"); });
  for (const auto& result : failed) EXPECT_EQ(result.status().eiCode(), 5);
  for (const auto& result : joinAll(2, [&](uint32_t i) { return join(table, i); })) {
    expectEndpoints(result, table);
  }
}

TEST_F(TableRendezvous, MissingRank) {
  const Cluster table = tableOf(3, "node");
  const auto results = joinAll(2, [&](uint32_t i) { return join(table, i, 1); });
  for (const auto& result : results) {
    EXPECT_EQ(result.status().code(), HCCL_E_TIMEOUT);
    EXPECT_THAT(result.status().text(), HasSubstr("List of unconnected ranks: 2"));
  }
}

TEST_F(TableRendezvous, DescribeSelf) {
  env.logicSuperPodId = "lp";
  auto self = describeSelf(3, 5, env);
  ASSERT_TRUE(self.isOk());
  EXPECT_EQ(self->rank, 3u);
  EXPECT_EQ(self->deviceId, 5u);
  EXPECT_EQ(self->hostIp, "127.0.0.1");
  EXPECT_EQ(self->serverId, "127.0.0.1_lp");
  EXPECT_EQ(self->superPodId, "lp");
  EXPECT_TRUE(self->hostNic);
}

}  // namespace
}  // namespace hccl
