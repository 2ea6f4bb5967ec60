// Ends of peers, forks, and what is left behind.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/transport/rank_process.h"
#include "transport/shm/peer_memory.h"

namespace hccl::transport {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Failures : public ::testing::TestWithParam<std::string> {};

TEST_P(Failures, AKilledPeerIsNoticedWithinASecond) {
  for (const uint32_t victim : {0U, 1U}) {
    RankProcess dies;
    RankProcess lives;
    const uint32_t other = 1 - victim;
    std::vector<Rank*> ranks(2);
    ranks[victim] = &dies;
    ranks[other] = &lives;
    const auto cards = exchangeCards(ranks);
    for (uint32_t i = 0; i < 2; ++i) ASSERT_EQ(makeRankLinks(ranks[i], cards, i, GetParam()), "ok");
    ASSERT_EQ(lives.run(fmt::format("connect {} 0 20", victim)), "ok");
    ASSERT_EQ(dies.run(fmt::format("connect {} 0 20", other)), "ok");
    // A child that was forked off must not hide the end of its parent.
    const pid_t child = std::stoi(dies.run("fork"));
    EXPECT_EQ(lives.run("failure 0"), "none");
    const uint64_t start = monotonicNs();
    dies.kill();
    const std::string text = lives.run("failure 5");
    EXPECT_LT(monotonicNs() - start, 1'000'000'000ULL);
    EXPECT_THAT(text, StartsWith(fmt::format("{} 12 ", victim)));
    EXPECT_THAT(text, HasSubstr(fmt::format("Remote rank: {}", victim)));
    EXPECT_THAT(text, HasSubstr("127.0.0.1:"));
    // And asking again tells the first cause.
    EXPECT_THAT(lives.run(fmt::format("connect {} 1 5", victim)),
                StartsWith(fmt::format("error 21 12 {} ", victim)));
    ::kill(child, SIGKILL);
  }
}

TEST_P(Failures, AnExitWithoutGoodbyeIsAFailure) {
  auto dies = std::make_unique<RankProcess>();
  RankProcess lives;
  const auto cards = exchangeCards({dies.get(), &lives});
  ASSERT_EQ(makeRankLinks(dies.get(), cards, 0, GetParam()), "ok");
  ASSERT_EQ(makeRankLinks(&lives, cards, 1, GetParam()), "ok");
  ASSERT_EQ(lives.run("connect 0 0 20"), "ok");
  dies->run("exit");
  EXPECT_THAT(lives.run("failure 5"), StartsWith("0 12 "));
}

TEST_P(Failures, ManyCommunicatorsLeaveNothing) {
  LocalRank here;
  RankProcess there, other;
  std::vector<Rank*> ranks = {&here, &there, &other};
  // The first rounds make what stays: the control thread, its unix socket, the arenas.
  size_t fds = 0, maps = 0;
  std::string fdsThere;
  constexpr int kWarm = 3, kRounds = 500 + kWarm;
  for (int round = 0; round < kRounds; ++round) {
    const auto cards = exchangeCards(ranks);
    for (uint32_t i = 0; i < 3; ++i) {
      ASSERT_EQ(makeRankLinks(ranks[i], cards, i, GetParam(), "secret", fmt::format("c{}", round)),
                "ok");
    }
    auto a = there.start("connect 0,2 0 20");
    auto b = other.start("connect 0,1 0 20");
    ASSERT_EQ(here.run("connect 1,2 0 20"), "ok");
    ASSERT_EQ(a.get(), "ok");
    ASSERT_EQ(b.get(), "ok");
    for (Rank* rank : ranks) rank->run("destroy");
    if (round + 1 != kWarm) continue;
    // Goodbyes may still be on their way.
    const Deadline settle = Deadline::after(0.3);
    while (!settle.expired()) std::this_thread::yield();
    fds = openFds();
    maps = mappings();
    fdsThere = there.run("fds");
  }
  const Deadline deadline = Deadline::after(5);
  while (openFds() > fds || there.run("fds") != fdsThere) {
    if (deadline.expired()) break;
  }
  EXPECT_LE(openFds(), fds);
  EXPECT_EQ(there.run("fds"), fdsThere);
  EXPECT_LE(mappings(), maps + 8);
  EXPECT_EQ(PeerMemory::mappedCount(), 0U);
}

TEST_P(Failures, AForkedChildDisturbsNobody) {
  LocalRank here;
  RankProcess there;
  const auto cards = exchangeCards({&here, &there});
  ASSERT_EQ(makeRankLinks(&here, cards, 0, GetParam()), "ok");
  ASSERT_EQ(makeRankLinks(&there, cards, 1, GetParam()), "ok");
  ASSERT_EQ(here.run("connect 1 0 20"), "ok");
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = here.run("connect 1 0 5").rfind("error 7 ", 0) == 0;
    here.run("destroy");
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(there.run("left 0 0.1"), "there");
  EXPECT_EQ(there.run("failure 0"), "none");
  EXPECT_EQ(here.run("connect 1 1 20"), "ok");
  EXPECT_EQ(there.run("connect 0 1 20"), "ok");
}

INSTANTIATE_TEST_SUITE_P(All, Failures, ::testing::Values("auto", "tcp"));

TEST(ShmOnly, SaysWhyItIsImpossible) {
  LocalRank a;
  RankProcess b;
  const auto cards = exchangeCards({&a, &b});
  ASSERT_EQ(makeRankLinks(&a, cards, 0, "shm"), "ok");
  ASSERT_EQ(makeRankLinks(&b, cards, 1, "tcp"), "ok");
  const std::string text = b.run("connect 0 0 20");
  EXPECT_THAT(text,
              StartsWith("error 5 6 0 Getting socket times out. Reason: no transport can join"));
  EXPECT_THAT(text, HasSubstr("excluded by HCCL_TRANSPORT \"shm\" of rank 0"));
  EXPECT_THAT(a.run("connect 1 0 20"), StartsWith("error 5 6 1 "));
}

}  // namespace
}  // namespace hccl::transport
