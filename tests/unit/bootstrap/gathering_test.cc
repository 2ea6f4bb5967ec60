#include "src/bootstrap/gathering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hccl::bootstrap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JoinRecord joinOf(uint32_t rank, uint32_t count, uint32_t roots = 1, uint32_t index = 0) {
  JoinRecord record;
  record.rankCount = count;
  record.rank = rank;
  record.rootCount = roots;
  record.rootIndex = index;
  record.ranks.resize(1);
  record.ranks[0].rank = rank;
  return record;
}

TEST(Gathering, CompletesAndSorts) {
  Gathering gathering;
  EXPECT_FALSE(gathering.isComplete());
  for (const uint32_t rank : {2u, 0u, 1u}) {
    EXPECT_FALSE(gathering.isComplete());
    ASSERT_TRUE(gathering.add(joinOf(rank, 3)).isOk());
  }
  EXPECT_TRUE(gathering.isComplete());
  EXPECT_THAT(gathering.connected(), ElementsAre(0, 1, 2));
  EXPECT_EQ(gathering.ranks()[2].rank, 2u);
  EXPECT_TRUE(gathering.missing().empty());
}

TEST(Gathering, TimeoutLinesAreThoseOfHccl) {
  Gathering gathering;
  for (const uint32_t rank : {0u, 2u, 4u, 6u}) {
    ASSERT_TRUE(gathering.add(joinOf(rank, 8)).isOk());
  }
  EXPECT_THAT(
      gathering.timeoutLines(120),
      ElementsAre("topo exchange server get socket timeout! timeout[120 s]",
                  "[InitGroupStage][DisplayConnectedRank]total connected num is [4],line num is "
                  "[1]",
                  "need connect rankNum is [8]",
                  "connected rankinfo[LINE 0]: [0000000000000000],[0000000000000002],"
                  "[0000000000000004],[0000000000000006];",
                  "[HCCL_TRACE] succ sockets is [4], waiting sockets is [4], wait sockets rankid: "
                  "[1,3,5,7]"));
  const Verdict verdict = gathering.timeoutVerdict();
  EXPECT_EQ(verdict.faultInfo, "Failed to connect agent[1,3,5,7,]");
  EXPECT_EQ(verdict.connected, 4u);
  EXPECT_EQ(verdict.rankCount, 8u);
  EXPECT_EQ(verdict.status.code(), HCCL_E_TIMEOUT);
}

TEST(Gathering, LinesHoldFiftyRanks) {
  Gathering gathering;
  for (uint32_t rank = 0; rank < 51; ++rank) {
    ASSERT_TRUE(gathering.add(joinOf(rank, 1000)).isOk());
  }
  const auto lines = gathering.timeoutLines(1);
  EXPECT_THAT(lines[1], HasSubstr("line num is [2]"));
  EXPECT_EQ(lines[4], "connected rankinfo[LINE 1]: [0000000000000050];");
  EXPECT_THAT(lines[5], HasSubstr("... (949 ranks)"));
}

TEST(Gathering, ABranchWaitsForItsGroupOnly) {
  Gathering gathering;
  ASSERT_TRUE(gathering.add(joinOf(1, 8, 3, 1)).isOk());
  ASSERT_TRUE(gathering.add(joinOf(7, 8, 3, 1)).isOk());
  EXPECT_THAT(gathering.missing(), ElementsAre(4));
  EXPECT_TRUE(gathering.isBranch());
  EXPECT_EQ(gathering.leader(), 1u);
  ASSERT_TRUE(gathering.add(joinOf(4, 8, 3, 1)).isOk());
  EXPECT_TRUE(gathering.isComplete());
  Gathering other;
  EXPECT_EQ(other.add(joinOf(2, 8, 3, 1)).code(), HCCL_E_PARA);  // of another group
}

TEST(Gathering, ALeaderBringsItsGroup) {
  Gathering gathering;
  JoinRecord leader = joinOf(1, 4, 2, 0);
  leader.ranks.resize(2);
  leader.ranks[1].rank = 3;
  ASSERT_TRUE(gathering.add(leader).isOk());
  EXPECT_THAT(gathering.missing(), ElementsAre(0, 2));
  leader.rank = 0;  // may not speak for rank 1
  EXPECT_EQ(gathering.add(leader).code(), HCCL_E_PARA);
  JoinRecord failed = joinOf(1, 4, 2, 0);
  failed.ranks.clear();
  failed.failure = Status(HCCL_E_TIMEOUT, "late", 15, 3);
  EXPECT_EQ(gathering.add(failed).culprit(), 3);
}

// Whoever comes first sets the measure; whether it is right, the others tell.
TEST(Gathering, TheRankThatIsAloneIsAtFault) {
  Gathering gathering;
  ASSERT_TRUE(gathering.add(joinOf(2, 5)).isOk());  // wrong: there are four
  const Status dispute = gathering.add(joinOf(0, 4));
  ASSERT_EQ(dispute.code(), HCCL_E_PARA);
  ASSERT_TRUE(gathering.isDisputed());
  EXPECT_EQ(gathering.verdict(dispute).culprit(), 0);  // one against one
  gathering.claim(joinOf(1, 4));
  EXPECT_EQ(gathering.verdict(dispute).culprit(), 2);
  EXPECT_THAT(gathering.verdict(dispute).text(), HasSubstr("joins with 4 ranks"));
}

TEST(Gathering, AbsurdCountsAreRefused) {
  for (const JoinRecord& record : {joinOf(0, 0), joinOf(0, 0xFFFFFFFF), joinOf(0, 2, 3, 0),
                                   joinOf(0, 2, 0, 0), joinOf(0, 2, 2, 2)}) {
    Gathering gathering;
    EXPECT_EQ(gathering.add(record).code(), HCCL_E_PARA);
  }
  Gathering gathering;
  JoinRecord empty = joinOf(0, 2);
  empty.ranks.clear();
  EXPECT_EQ(gathering.add(empty).code(), HCCL_E_PARA);
  JoinRecord noObject = joinOf(1, 2);
  noObject.agreed = "[1]";
  EXPECT_EQ(gathering.add(noObject).code(), HCCL_E_PARA);
}

}  // namespace
}  // namespace hccl::bootstrap
