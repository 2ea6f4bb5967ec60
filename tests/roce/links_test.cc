// Links over a real RDMA device (or soft-RoCE): connections, frames of all sizes both ways, several
// queue pairs, starved receivers, ends.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "tests/roce/rdma_facts.h"
#include "tests/unit/transport/rank_process.h"

namespace hccl::transport {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RoceLinks : public ::testing::Test {
 protected:
  void SetUp() override {
    facts_ = roce::usableDevice();
    ASSERT_FALSE(facts_.address.empty()) << "no active RDMA port with an address";
  }

  void makeRanks(size_t count, const std::string& address = "") {
    std::vector<Rank*> ranks;
    for (size_t i = 0; i < count; ++i) {
      processes_.push_back(std::make_unique<RankProcess>());
      ranks.push_back(processes_.back().get());
    }
    const auto cards = exchangeCards(ranks, address.empty() ? facts_.address : address);
    for (uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(makeRankLinks(ranks[i], cards, i, "rdma"), "ok");
    }
  }
  Rank& rank(size_t i) { return *processes_[i]; }

  void connectAll(int kind = 0) {
    std::vector<std::future<std::string>> answers;
    for (size_t i = 0; i < processes_.size(); ++i) {
      std::string peers;
      for (size_t j = 0; j < processes_.size(); ++j) {
        if (j != i) peers += fmt::format("{}{}", peers.empty() ? "" : ",", j);
      }
      answers.push_back(rank(i).start(fmt::format("connect {} {} 40", peers, kind)));
    }
    for (auto& answer : answers) ASSERT_EQ(answer.get(), "ok");
  }

  void exchange(size_t a, size_t b, int kind, size_t bytes, uint64_t sequence,
                const std::string& command = "exchange") {
    const std::string rest = fmt::format("{} {} 11 {} 60", kind, bytes, sequence);
    auto one = rank(a).start(fmt::format("{} {} {}", command, b, rest));
    auto other = rank(b).start(fmt::format("{} {} {}", command, a, rest));
    ASSERT_EQ(one.get(), "ok") << bytes;
    ASSERT_EQ(other.get(), "ok") << bytes;
  }

  roce::DeviceFacts facts_;
  std::vector<std::unique_ptr<RankProcess>> processes_;
};

TEST_F(RoceLinks, CarryFramesOfAllSizesBothWaysThroughTheDevice) {
  makeRanks(2);
  connectAll();
  EXPECT_THAT(rank(0).run("describe 1 0"), HasSubstr("rdma: 1 queue pair"));
  const uint64_t before = facts_.sentPackets();
  uint64_t sequence = 0, bytes = 0;
  for (const size_t size : {0, 1, 7, 79, 80, 81, 4096, 32719, 32720, 32721, 65488, 100000, 524287,
                            524288, 1500001, 4194304}) {
    exchange(0, 1, 0, size, ++sequence);
    bytes += size;
  }
  EXPECT_EQ(rank(0).run("counters 1 0"), fmt::format("{} {}", bytes, bytes));
  // Each payload byte crossed the device, twice: in packets of at most 4096.
  EXPECT_GE(facts_.sentPackets() - before, 2 * bytes / 4096);
}

TEST_F(RoceLinks, JoinFourProcessesBothKindsAtOnce) {
  makeRanks(4);
  connectAll(0);
  connectAll(1);
  uint64_t sequence = 0;
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = a + 1; b < 4; ++b) {
      exchange(a, b, 0, 70000 + a, ++sequence);
      exchange(a, b, 1, 300 + b, ++sequence);
    }
  }
}

TEST_F(RoceLinks, UseTheOtherAddressFamily) {
  if (facts_.address6.empty()) GTEST_SKIP() << "no IPv6 address";
  makeRanks(2, facts_.address6);
  connectAll();
  EXPECT_THAT(rank(1).run("describe 0 0"), HasSubstr(facts_.address6));
  exchange(0, 1, 0, 123457, 1);
}

TEST_F(RoceLinks, SpreadLargeFramesOverQueuePairs) {
  ::setenv("HCCL_RDMA_QPS_PER_CONNECTION", "4", 1);
  ::setenv("HCCL_MULTI_QP_THRESHOLD", "64", 1);
  makeRanks(2);
  ::unsetenv("HCCL_RDMA_QPS_PER_CONNECTION");
  ::unsetenv("HCCL_MULTI_QP_THRESHOLD");
  connectAll();
  EXPECT_THAT(rank(0).run("describe 1 0"), HasSubstr("rdma: 4 queue pairs"));
  uint64_t sequence = 0;
  for (const size_t size : {10, 65536, 131072, 1000003, 3000001, 12, 262144}) {
    exchange(0, 1, 0, size, ++sequence);
    exchange(0, 1, 0, size, ++sequence, "exchange-device");
  }
}

TEST_F(RoceLinks, SleepingReceiversAreWoken) {
  makeRanks(2);
  connectAll();
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
    auto waiting = rank(1).start(fmt::format("receive 0 0 1000 11 {} 20", sequence));
    // Long enough for the receiver to fall asleep.
    EXPECT_EQ(rank(0).run("failure 0.3"), "none");
    EXPECT_EQ(rank(0).run(fmt::format("send 1 0 1000 11 {} 20", sequence)), "ok");
    EXPECT_EQ(waiting.get(), "ok");
  }
}

TEST_F(RoceLinks, WhatWasSentArrivesThoughTheSenderLeaves) {
  makeRanks(2);
  connectAll();
  EXPECT_EQ(rank(0).run("send 1 0 300000 11 1 20"), "ok");
  EXPECT_EQ(rank(0).run("destroy"), "ok");
  EXPECT_EQ(rank(1).run("left 0 5"), "left");
  EXPECT_EQ(rank(1).run("receive 0 0 300000 11 1 20"), "ok");
  EXPECT_EQ(rank(1).run("destroy"), "ok");
}

TEST_F(RoceLinks, AnotherFrameThanTheExpectedOneIsTold) {
  makeRanks(2);
  connectAll();
  EXPECT_EQ(rank(0).run("send 1 0 100 11 7 20"), "ok");
  EXPECT_EQ(rank(1).run("receive 0 0 100 11 8 20"), "mismatch 7");
}

TEST_F(RoceLinks, AKilledPeerIsNamed) {
  makeRanks(2);
  connectAll();
  exchange(0, 1, 0, 5000, 1);
  auto waiting = rank(1).start("failure 20");
  processes_[0]->kill();
  EXPECT_THAT(waiting.get(), StartsWith("0 "));
}

// Only where the device is ours alone: it goes down and comes back.
TEST_F(RoceLinks, APortThatGoesDownIsAnErrorAndComesBack) {
  if (std::getenv("HCCL_ROCE_GUEST") == nullptr) GTEST_SKIP() << "not in a guest";
  makeRanks(2);
  connectAll();
  exchange(0, 1, 0, 5000, 1);
  ASSERT_EQ(std::system("ip link set veth0 down"), 0);
  for (size_t i = 0; i < 2; ++i) {
    const std::string failure = rank(i).run("failure 20");
    EXPECT_THAT(failure, StartsWith(fmt::format("{} 13 ", 1 - i)));
    EXPECT_THAT(failure, HasSubstr("port is down"));
    EXPECT_THAT(rank(i).run(fmt::format("receive {} 0 10 11 2 5", 1 - i)),
                HasSubstr("An error CQE occurred during operator execution. Local information: "
                          "server 192.168.77.1"));
  }
  // Up again before anything is sent: rdma_cm on soft-RoCE never works again after it had to send
  // (its own goodbyes) through a port that is down.
  ASSERT_EQ(std::system("ip link set veth0 up && ip address replace fd77::1/64 dev veth0 nodad"),
            0);
  processes_.clear();
  makeRanks(2);
  connectAll();
  exchange(0, 1, 0, 5000, 1);
}

// A rank with two network cards, as a rank table with two addresses makes it.
TEST_F(RoceLinks, SpreadLargeFramesOverNetworkCards) {
  if (std::getenv("HCCL_ROCE_GUEST") == nullptr) GTEST_SKIP() << "not in a guest";
  ASSERT_EQ(std::system("ip link add veth2 mtu 4500 type veth peer name veth3 && "
                        "ip link set veth3 mtu 4500 up && ip link set veth2 up && "
                        "ip address add 192.168.79.1/24 dev veth2 && "
                        "rdma link add rxe1 type rxe netdev veth2"),
            0);
  makeRanks(2, facts_.address + ",192.168.79.1");
  connectAll();
  EXPECT_THAT(rank(0).run("describe 1 0"),
              AllOf(HasSubstr("rdma: 2 queue pairs"), HasSubstr("192.168.79.1 (rxe1 port 1)")));
  roce::DeviceFacts second;
  second.device = "rxe1";
  const uint64_t before = facts_.sentPackets(), beforeSecond = second.sentPackets();
  uint64_t sequence = 0;
  for (const size_t size : {10, 524288, 3000001, 100, 4194304}) {
    exchange(0, 1, 0, size, ++sequence);
    exchange(0, 1, 0, size, ++sequence, "exchange-device");
  }
  // The two largest ones alone are 29 MB, both directions together: half of it by each card.
  EXPECT_GE(facts_.sentPackets() - before, 3000u);
  EXPECT_GE(second.sentPackets() - beforeSecond, 3000u);
  processes_.clear();
  EXPECT_EQ(std::system("rdma link delete rxe1 && ip link delete veth2"), 0);
}

TEST_F(RoceLinks, MemoryThatMayNotBeLockedMeansTcp) {
  if (std::getenv("HCCL_ROCE_GUEST") == nullptr) GTEST_SKIP() << "not in a guest";
  processes_.push_back(std::make_unique<RankProcess>());
  // Without the rights of root the limit counts.
  processes_.push_back(std::make_unique<RankProcess>(
      std::vector<std::string>{"prlimit", "--memlock=65536:65536", "setpriv", "--reuid=65534",
                               "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"}));
  const std::vector<Rank*> ranks = {processes_[0].get(), processes_[1].get()};
  const auto cards = exchangeCards(ranks, facts_.address);
  for (uint32_t i = 0; i < 2; ++i) ASSERT_EQ(makeRankLinks(ranks[i], cards, i, "rdma,tcp"), "ok");
  connectAll();
  for (size_t i = 0; i < 2; ++i) {
    const std::string text = rank(i).run(fmt::format("describe {} 0", 1 - i));
    EXPECT_THAT(text, HasSubstr("tcp: "));
    EXPECT_THAT(text, HasSubstr("RLIMIT_MEMLOCK, ulimit -l) is 65536 bytes"));
  }
  exchange(0, 1, 0, 100000, 1);
}

// Enough for the cells of a link, too little for the buffers.
TEST_F(RoceLinks, BuffersThatMayNotBeLockedAreCopied) {
  if (std::getenv("HCCL_ROCE_GUEST") == nullptr) GTEST_SKIP() << "not in a guest";
  char logs[] = "/tmp/roce-logs-XXXXXX";
  ASSERT_NE(::mkdtemp(logs), nullptr);
  // Both users write into it.
  ASSERT_EQ(
      std::system(
          fmt::format("cd {} && mkdir -p run/plog debug/plog && chmod -R 777 .", logs).c_str()),
      0);
  ::setenv("ASCEND_PROCESS_LOG_PATH", logs, 1);
  processes_.push_back(std::make_unique<RankProcess>());
  processes_.push_back(std::make_unique<RankProcess>(
      std::vector<std::string>{"prlimit", "--memlock=4194304:4194304", "setpriv", "--reuid=65534",
                               "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"}));
  ::unsetenv("ASCEND_PROCESS_LOG_PATH");
  const std::vector<Rank*> ranks = {processes_[0].get(), processes_[1].get()};
  const auto cards = exchangeCards(ranks, facts_.address);
  for (uint32_t i = 0; i < 2; ++i) ASSERT_EQ(makeRankLinks(ranks[i], cards, i, "rdma"), "ok");
  connectAll();
  uint64_t sequence = 0;
  for (const size_t size : {300000, 5000000}) {
    exchange(0, 1, 0, size, ++sequence, "exchange-device");
  }
  EXPECT_EQ(std::system(fmt::format("grep -qE '5[0-9]+ bytes cannot be registered with .*"
                                    "RLIMIT_MEMLOCK, ulimit -l. is 4194304 bytes' {}/run/plog/*",
                                    logs)
                            .c_str()),
            0);
  EXPECT_EQ(std::system(fmt::format("rm -r {}", logs).c_str()), 0);
}

TEST_F(RoceLinks, LeaveNothingBehind) {
  for (int round = 0; round < 3; ++round) {
    makeRanks(2);
    connectAll();
    exchange(0, 1, 0, 100, 1);
    EXPECT_EQ(roce::objectsOf(processes_[0]->pid()).queuePairs, 1);
    EXPECT_EQ(rank(0).run("destroy"), "ok");
    EXPECT_EQ(rank(1).run("destroy"), "ok");
    const auto left = roce::objectsOf(processes_[0]->pid());
    EXPECT_EQ(left.queuePairs, 0) << "round " << round;
    EXPECT_EQ(left.regions, 0);
    processes_.clear();
  }
}

}  // namespace
}  // namespace hccl::transport
