// Members among themselves: successes, disagreements, losses.
#include "src/bootstrap/rendezvous.h"

#include <sys/wait.h>
#include <unistd.h>

#include "src/bootstrap/agent.h"
#include "tests/unit/bootstrap/rendezvous_fixture.h"

namespace hccl {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class Rendezvous : public RootFixture {};

TEST_F(Rendezvous, EveryCountFrom1To16) {
  for (uint32_t count = 1; count <= 16; ++count) {
    const RootHandle root = startRootFor();
    const auto results = joinAll(count, [&](uint32_t i) {
      return joinRoot(root, count, i, describe(i), R"({"bufferSize":200})", Deadline::after(20));
    });
    for (const auto& result : results) expectWhole(result, count);
  }
  EXPECT_TRUE(rootsEnd());
}

TEST_F(Rendezvous, SeveralRootsAtATime) {
  std::vector<RootHandle> roots;
  for (int i = 0; i < 6; ++i) roots.push_back(startRootFor());
  for (const RootHandle& root : roots) EXPECT_TRUE(isRootLive(root.address));
  const auto results = joinAll(12, [&](uint32_t i) {
    return joinRoot(roots[i / 2], 2, i % 2, describe(i % 2), "", Deadline::after(20));
  });
  for (const auto& result : results) expectWhole(result, 2);
  EXPECT_TRUE(rootsEnd());
}

TEST_F(Rendezvous, Ipv6) {
  env.socketFamily = SocketFamily::kInet6;
  const RootHandle root = startRootFor();
  if (!root.address.ip.isV6()) GTEST_SKIP() << "lo has no IPv6 address";
  const auto results = joinAll(
      3, [&](uint32_t i) { return joinRoot(root, 3, i, describe(i), "", Deadline::after(20)); });
  for (const auto& result : results) expectWhole(result, 3);
}

TEST_F(Rendezvous, LargeEndpoints) {
  const RootHandle root = startRootFor();
  const auto results = joinAll(4, [&](uint32_t i) {
    RankInfo info = describe(i);
    info.endpoint = std::string(900'000, static_cast<char>('a' + i));
    return joinRoot(root, 4, i, info, "", Deadline::after(20));
  });
  for (const auto& result : results) {
    ASSERT_TRUE(result.isOk()) << result.status().text();
    EXPECT_EQ(result->ranks[3].endpoint, std::string(900'000, 'd'));
  }
}

TEST_F(Rendezvous, RankTwice) {
  const RootHandle root = startRootFor();
  const std::vector<uint32_t> ranks{0, 1, 1, 2};
  const auto results = joinAll(4, [&](uint32_t i) {
    return joinRoot(root, 4, ranks[i], describe(i), "", Deadline::after(20));
  });
  for (const auto& result : results) {
    const Status status = result.status();
    EXPECT_EQ(status.code(), HCCL_E_PARA) << status.text();
    EXPECT_EQ(status.eiCode(), 15);
    EXPECT_EQ(status.culprit(), 1);
    EXPECT_THAT(status.text(), HasSubstr("rank 1 joined twice"));
  }
  EXPECT_TRUE(rootsEnd());
}

TEST_F(Rendezvous, RankOutOfRange) {
  const RootHandle root = startRootFor();
  const auto results = joinAll(2, [&](uint32_t i) {
    return joinRoot(root, 2, i * 2, describe(i), "", Deadline::after(20));
  });
  for (const auto& result : results) {
    EXPECT_EQ(result.status().code(), HCCL_E_PARA) << result.status().text();
    EXPECT_EQ(result.status().culprit(), 2);
    EXPECT_THAT(result.status().text(), HasSubstr("rank 2 is not below the number of ranks 2"));
  }
}

TEST_F(Rendezvous, DifferentCounts) {
  const RootHandle root = startRootFor();
  const auto results = joinAll(3, [&](uint32_t i) {
    return joinRoot(root, i == 2 ? 4 : 3, i, describe(i), "", Deadline::after(20));
  });
  for (const auto& result : results) {
    EXPECT_EQ(result.status().code(), HCCL_E_PARA);
    EXPECT_EQ(result.status().eiCode(), 15);
    EXPECT_THAT(result.status().text(), HasSubstr("joins with 4 ranks"));
    EXPECT_THAT(result.status().text(), HasSubstr("joins with 3 ranks"));
  }
}

TEST_F(Rendezvous, DifferentFacts) {
  const RootHandle root = startRootFor();
  const auto results = joinAll(3, [&](uint32_t i) {
    const std::string agreed =
        i == 2 ? R"({"algo":"ring","bufferSize":100})" : R"({"bufferSize":200,"algo":"ring"})";
    return joinRoot(root, 3, i, describe(i), agreed, Deadline::after(20));
  });
  for (const auto& result : results) {
    EXPECT_EQ(result.status().code(), HCCL_E_PARA);
    EXPECT_EQ(result.status().eiCode(), 5);
    const std::string text = result.status().text();
    EXPECT_THAT(text, HasSubstr("bufferSize"));
    EXPECT_THAT(text, HasSubstr(root.identifier));
    EXPECT_THAT(text, HasSubstr("100 (rank 2)"));
    EXPECT_THAT(text, AnyOf(HasSubstr("200 (rank 0)"), HasSubstr("200 (rank 1)")));
  }
}

TEST_F(Rendezvous, AMissingFactIsADifference) {
  const RootHandle root = startRootFor();
  const auto results = joinAll(2, [&](uint32_t i) {
    return joinRoot(root, 2, i, describe(i), i == 0 ? "" : R"({"k":1})", Deadline::after(20));
  });
  for (const auto& result : results) {
    EXPECT_THAT(result.status().text(), HasSubstr("(not set) (rank 0)"));
  }
}

TEST_F(Rendezvous, ClusterIsVerified) {
  const RootHandle root = startRootFor();
  const auto results = joinAll(2, [&](uint32_t i) {
    RankInfo info = describe(i);
    info.deviceId = 7;
    return joinRoot(root, 2, i, info, "", Deadline::after(20));
  });
  for (const auto& result : results) {
    EXPECT_THAT(result.status().text(),
                HasSubstr("Rank 0 of node 127.0.0.1 has the same physical device ID 7"));
  }
}

TEST_F(Rendezvous, MissingRanksAreListed) {
  const RootHandle root = startRootFor(1);
  const std::vector<uint32_t> present{0, 2, 4};
  const uint64_t begin = monotonicNs();
  const auto results = joinAll(3, [&](uint32_t i) {
    return joinRoot(root, 6, present[i], describe(i), "", Deadline::after(1));
  });
  EXPECT_LT(monotonicNs() - begin, 5'000'000'000u);
  EXPECT_TRUE(isRootLive(root.address));  // for the late ones, as long as it waited before
  for (const auto& result : results) {
    EXPECT_EQ(result.status().code(), HCCL_E_TIMEOUT);
    EXPECT_EQ(result.status().eiCode(), 15);
    EXPECT_EQ(result.status().culprit(), 1);
    EXPECT_THAT(result.status().text(),
                HasSubstr("No rank in the communicator can connect to the root node within the "
                          "timeout period. List of unconnected ranks: 1,3,5"));
  }
  EXPECT_TRUE(rootsEnd(5));
}

TEST_F(Rendezvous, RootThatIsGone) {
  const RootHandle root = startRootFor(0.05);
  ASSERT_TRUE(rootsEnd());
  const Status status = joinRoot(root, 2, 1, describe(1), "", Deadline::after(0.3)).status();
  EXPECT_EQ(status.code(), HCCL_E_TIMEOUT);
  EXPECT_EQ(status.eiCode(), 15);
  EXPECT_THAT(status.text(), HasSubstr("The current node 127.0.0.1 is disconnected from the host "
                                       "of the root node 127.0.0.1"));
}

TEST_F(Rendezvous, SilentRootRunsIntoTheVerdictDeadline) {
  const RootHandle root = startRootFor(20);
  options.verdictGraceSeconds = 0.2;
  const Status status =
      joinRoot(root, 2, 0, describe(0), "", Deadline::after(0.2), options).status();
  EXPECT_EQ(status.code(), HCCL_E_TIMEOUT);
  EXPECT_THAT(status.text(), HasSubstr("Receiving message from the root node timed out"));
  // It left: the other rank hears it instead of waiting, even though it comes late.
  const Status other = joinRoot(root, 2, 1, describe(1), "", Deadline::after(20)).status();
  EXPECT_EQ(other.code(), HCCL_E_TCP_TRANSFER) << other.text();
  EXPECT_EQ(other.culprit(), 0);
  EXPECT_TRUE(rootsEnd());
}

TEST_F(Rendezvous, KilledMemberIsNamedToAll) {
  const RootHandle root = startRootFor(20);
  // Rank 2 joins by hand and its connection ends, as that of a killed process does.
  bootstrap::RootTarget target;
  target.addresses = {root.address};
  target.secret = root.secret;
  target.version = kBootstrapVersion;
  auto victim = bootstrap::reachRoot(target, Deadline::after(5));
  ASSERT_TRUE(victim.isOk()) << victim.status().text();
  bootstrap::JoinRecord record;
  record.rankCount = 4;
  record.rank = 2;
  record.ranks = {describe(2)};
  record.ranks[0].rank = 2;
  ASSERT_TRUE(
      victim->send(bootstrap::FrameType::kJoin, *bootstrap::encodeJoin(record), Deadline::after(5))
          .isOk());
  std::thread killer([&] { const bootstrap::Agent dead = std::move(*victim); });
  auto results = joinAll(2, [&](uint32_t i) {
    const uint32_t rank = i == 0 ? 0 : 3;
    return joinRoot(root, 4, rank, describe(rank), "", Deadline::after(20));
  });
  killer.join();
  // A late rank hears the same.
  results.push_back(joinRoot(root, 4, 1, describe(1), "", Deadline::after(20)));
  for (const auto& result : results) {
    EXPECT_EQ(result.status().code(), HCCL_E_TCP_TRANSFER) << result.status().text();
    EXPECT_EQ(result.status().eiCode(), 15);
    EXPECT_EQ(result.status().culprit(), 2);
    EXPECT_THAT(result.status().text(), HasSubstr("rank 2 (127.0.0.1:"));
  }
}

TEST_F(Rendezvous, ExitWhileARootIsAlive) {
  // A fresh process: exit() runs the static destructors while the root's thread waits.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        RootOptions rootOptions;
        rootOptions.environment = &env;
        rootOptions.timeoutSeconds = 100;
        ::exit(startRoot(rootOptions).isOk() ? 7 : 8);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST_F(Rendezvous, AForkedChildHoldsNoPort) {
  const RootHandle root = startRootFor(20);
  int toChild[2], toParent[2];
  ASSERT_EQ(::pipe(toChild), 0);
  ASSERT_EQ(::pipe(toParent), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  char byte = 0;
  if (child == 0) {
    ::close(toChild[1]);
    (void)!::write(toParent[1], &byte, 1);
    (void)!::read(toChild[0], &byte, 1);  // until the parent is done
    ::_exit(0);
  }
  ::close(toChild[0]);
  ASSERT_EQ(::read(toParent[0], &byte, 1), 1);  // fork has returned there
  expectWhole(joinRoot(root, 1, 0, describe(0), "", Deadline::after(10)), 1);
  ASSERT_TRUE(rootsEnd());
  // The child still lives, and the port is free.
  EXPECT_TRUE(listenTcp(root.address.ip, root.address.port).isOk());
  ::close(toChild[1]);
  ::close(toParent[0]);
  ::close(toParent[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

class ManyRoots : public RootFixture {};

TEST_F(ManyRoots, GroupsMeetAtTheFirst) {
  for (const auto& [rootCount, rankCount] :
       std::vector<std::pair<uint32_t, uint32_t>>{{1, 3}, {2, 5}, {3, 8}, {4, 4}}) {
    std::vector<RootHandle> roots;
    for (uint32_t i = 0; i < rootCount; ++i) roots.push_back(startRootFor());
    const auto results = joinAll(rankCount, [&, count = rankCount](uint32_t i) {
      return joinRoots(roots, count, i, describe(i), R"({"a":1})", Deadline::after(20));
    });
    for (const auto& result : results) expectWhole(result, rankCount);
  }
  EXPECT_TRUE(rootsEnd());
}

TEST_F(ManyRoots, AFailureOfOneGroupReachesAll) {
  std::vector<RootHandle> roots{startRootFor(20), startRootFor(20)};
  const std::vector<uint32_t> ranks{0, 1, 2, 1};  // rank 1 twice, rank 3 missing
  const auto results = joinAll(4, [&](uint32_t i) {
    return joinRoots(roots, 4, ranks[i], describe(ranks[i]), "", Deadline::after(20));
  });
  for (const auto& result : results) {
    EXPECT_EQ(result.status().code(), HCCL_E_PARA) << result.status().text();
    EXPECT_THAT(result.status().text(), HasSubstr("rank 1 joined twice"));
  }
}

TEST_F(ManyRoots, FactsAreComparedAcrossGroups) {
  std::vector<RootHandle> roots{startRootFor(20), startRootFor(20)};
  const auto results = joinAll(4, [&](uint32_t i) {
    return joinRoots(roots, 4, i, describe(i), i % 2 == 0 ? R"({"a":1})" : R"({"a":2})",
                     Deadline::after(20));
  });
  for (const auto& result : results) {
    EXPECT_EQ(result.status().eiCode(), 5) << result.status().text();
  }
}

TEST_F(ManyRoots, MoreRootsThanRanks) {
  std::vector<RootHandle> roots(2);
  EXPECT_EQ(joinRoots(roots, 1, 0, describe(0), "", Deadline::after(1)).status().code(),
            HCCL_E_PARA);
  EXPECT_EQ(joinRoots({}, 1, 0, describe(0), "", Deadline::after(1)).status().code(), HCCL_E_PARA);
}

}  // namespace
}  // namespace hccl
