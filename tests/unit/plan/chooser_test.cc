// What runs where nothing is configured: the table's row where it is legal, else what the cost
// model takes; and HCCL's rules where HCCL_ALGO speaks.
#include "src/plan/chooser.h"

#include <gtest/gtest.h>

#include "tests/unit/plan/topologies.h"

namespace hccl::test {
namespace {

using plan::Choice;
using plan::Chooser;
using plan::Policy;

std::shared_ptr<const AlgoTable> tableOf(const std::string& rows) {
  auto table = AlgoTable::parse(R"({"version":1,"rows":[)" + rows + "]}", "table.json");
  EXPECT_TRUE(table.isOk()) << table.status().text();
  return table.isOk() ? *table : nullptr;
}

std::string row(const std::string& op, uint32_t ranks, const std::string& what,
                uint32_t servers = 1, const std::string& links = "shared") {
  return R"({"op":")" + op + R"(","ranks":)" + std::to_string(ranks) + R"(,"servers":)" +
         std::to_string(servers) + R"(,"links":")" + links + R"(","max_bytes":1048576,)" + what +
         "}";
}

Policy policyOf(const std::string& rows, const std::string& algo = "") {
  Policy policy;
  policy.config = *parseAlgoConfig(algo);
  policy.table = tableOf(rows);
  return policy;
}

plan::OpDesc opOf(HcclCMDType type) {
  plan::OpDesc op;
  op.type = type;
  op.count = 1000;
  return op;
}

TEST(Chooser, TheTablesRowRuns) {
  const plan::Topology topology = plan::Topology::flat(4);
  Chooser chooser(
      topology,
      policyOf(row("allreduce", 4, R"("algorithm":"NB","one_shot":true,"chunk_bytes":65536)")));
  const Choice& choice = chooser.choose(opOf(HCCL_CMD_ALLREDUCE), 4000);
  EXPECT_EQ(choice.text(), "NB (one-shot)");
  EXPECT_EQ(choice.chunkBytes, 65536U);
  EXPECT_EQ(choice.why, "row 1 of table.json");
  const plan::Schedule schedule = plan::compose(opOf(HCCL_CMD_ALLREDUCE), topology, choice);
  EXPECT_EQ(schedule.name, "NB-null-null");
  EXPECT_TRUE(schedule.stages[0].oneShot);
  EXPECT_TRUE(chooser.takeNotes().empty());
  // Beyond the row's size, and for other operations, the model decides.
  EXPECT_EQ(chooser.choose(opOf(HCCL_CMD_ALLREDUCE), 2 << 20).why, "the cost model");
  EXPECT_EQ(chooser.choose(opOf(HCCL_CMD_BROADCAST), 4000).why, "the cost model");
}

TEST(Chooser, RowsOfOtherClustersDoNotCount) {
  const std::string rows = row("allreduce", 8, R"("algorithm":"NB")") + "," +
                           row("allreduce", 4, R"("algorithm":"NB")", 1, "tcp") + "," +
                           row("allreduce", 4, R"("level1":"NB")", 2);
  const plan::Topology topology = plan::Topology::flat(4);
  Chooser chooser(topology, policyOf(rows));
  EXPECT_EQ(chooser.choose(opOf(HCCL_CMD_ALLREDUCE), 4000).why, "the cost model");
  Policy tcp = policyOf(rows);
  tcp.links.inside = plan::CostClass::kTcp;
  EXPECT_EQ(Chooser(topology, tcp).choose(opOf(HCCL_CMD_ALLREDUCE), 4000).text(), "NB");
}

TEST(Chooser, ARowForTheLevelsBetweenServers) {
  const plan::Topology topology = clusterOf({2, 2});
  Policy policy = policyOf(row("allreduce", 4, R"("level1":"NB","one_shot":true)", 2, "rdma"));
  Chooser chooser(topology, policy);
  const Choice& choice = chooser.choose(opOf(HCCL_CMD_ALLREDUCE), 4000);
  EXPECT_EQ(choice.text(), "fullmesh-NB (one-shot)");
  EXPECT_EQ(choice.why, "row 1 of table.json");
}

// What the model thinks cheapest may send more than the hierarchy does over the servers' own lines.
TEST(Chooser, SeveralServersKeepToTheRules) {
  const plan::Topology topology = clusterOf({2, 2});
  Chooser chooser(topology, policyOf(""));
  const Choice& choice = chooser.choose(opOf(HCCL_CMD_ALLREDUCE), 16 << 20);
  EXPECT_EQ(choice.why, "HCCL's rules, for several servers");
  EXPECT_NE(choice.level1, nullptr);
  EXPECT_FALSE(choice.oneShot1);
}

TEST(Chooser, AnIllegalRowIsSkippedWithOneLine) {
  const struct {
    const char* op;
    HcclCMDType type;
    const char* what;
  } cases[] = {
      {"broadcast", HCCL_CMD_BROADCAST, R"("algorithm":"ring")"},      // ring has none
      {"allreduce", HCCL_CMD_ALLREDUCE, R"("algorithm":"pairwise")"},  // AlltoAll only
      {"allreduce", HCCL_CMD_ALLREDUCE, R"("algorithm":"AHC")"},       // needs levels
      {"allreduce", HCCL_CMD_ALLREDUCE, R"("algorithm":"ring","one_shot":true)"},
      {"allreduce", HCCL_CMD_ALLREDUCE, R"("level1":"ring")"},  // there is one server
  };
  const plan::Topology topology = plan::Topology::flat(4);
  for (const auto& c : cases) {
    Chooser chooser(topology, policyOf(row(c.op, 4, c.what)));
    for (int call = 0; call < 3; ++call) {
      EXPECT_EQ(chooser.choose(opOf(c.type), 4000).why, "the cost model") << c.what;
    }
    const std::vector<std::string> notes = chooser.takeNotes();
    ASSERT_EQ(notes.size(), 1U) << c.what;
    EXPECT_NE(notes[0].find("row 1 of table.json"), std::string::npos) << notes[0];
    EXPECT_NE(notes[0].find("is skipped for"), std::string::npos) << notes[0];
  }
}

TEST(Chooser, StrictTakesNoRowThatCombinesPartialResults) {
  const plan::Topology topology = plan::Topology::flat(4);
  Policy policy = policyOf(row("allreduce", 4, R"("algorithm":"NHR")") + "," +
                           row("reduce", 4, R"("algorithm":"star")") + "," +
                           row("allgather", 4, R"("algorithm":"NHR")"));
  policy.strict = true;
  Chooser chooser(topology, policy);
  EXPECT_EQ(chooser.choose(opOf(HCCL_CMD_ALLREDUCE), 4000).level0->token, std::string("fullmesh"));
  EXPECT_EQ(chooser.takeNotes().size(), 1U);
  EXPECT_EQ(chooser.choose(opOf(HCCL_CMD_REDUCE), 4000).text(), "star");
  EXPECT_EQ(chooser.choose(opOf(HCCL_CMD_ALLGATHER), 4000).text(), "NHR");  // nothing is combined
  chooser.setStrict(false);
  EXPECT_EQ(chooser.choose(opOf(HCCL_CMD_ALLREDUCE), 4000).text(), "NHR");
}

TEST(Chooser, StrictReductionsAlwaysKeepTheOrder) {
  for (uint32_t ranks = 2; ranks <= 9; ++ranks) {
    const plan::Topology topology = plan::Topology::flat(ranks);
    Policy policy;
    policy.strict = true;
    policy.links.crowding = ranks;
    Chooser chooser(topology, policy);
    for (const HcclCMDType type : {HCCL_CMD_ALLREDUCE, HCCL_CMD_REDUCE, HCCL_CMD_REDUCE_SCATTER}) {
      const Choice& choice = chooser.choose(opOf(type), 64);
      EXPECT_TRUE(choice.level0->algorithm->keepsOrder(plan::stageOpOf(type))) << ranks;
      EXPECT_EQ(choice.level1, nullptr);
    }
  }
}

TEST(Chooser, HcclAlgoComesBeforeTheTable) {
  const plan::Topology topology = clusterOf({1, 1, 1, 1});
  const std::string rows = row("allreduce", 4, R"("algorithm":"NB")", 4, "rdma") + "," +
                           row("broadcast", 4, R"("algorithm":"star")", 4, "rdma");
  Chooser chooser(topology, policyOf(rows, "allreduce=level0:NA;level1:H-D_R"));
  EXPECT_EQ(chooser.choose(opOf(HCCL_CMD_ALLREDUCE), 4000).text(), "H-D_R");
  EXPECT_EQ(chooser.choose(opOf(HCCL_CMD_BROADCAST), 4000).text(), "star");
}

TEST(Chooser, ShapesOfHcclAlgo) {
  const plan::Topology topology = plan::Topology::flat(4);
  Policy policy;
  policy.config = *parseAlgoConfig("level0:null;level1:NHR;oneshot:no;chunk:64K");
  Chooser chooser(topology, policy);
  const Choice small = chooser.choose(opOf(HCCL_CMD_ALLREDUCE), 8);
  EXPECT_EQ(small.text(), "NHR");
  EXPECT_EQ(small.chunkBytes, 65536U);
  policy.config = *parseAlgoConfig("level0:null;level1:NHR;oneshot:yes");
  Chooser large(topology, policy);
  EXPECT_EQ(large.choose(opOf(HCCL_CMD_ALLREDUCE), 64 << 20).text(), "NHR (one-shot)");
  EXPECT_NE(large.choose(opOf(HCCL_CMD_ALLGATHER), 8).note.find("no one-shot form"),
            std::string::npos);
}

TEST(Chooser, SizesThatRanksDoNotShareAreLeftToTheRules) {
  const plan::Topology topology = plan::Topology::flat(8);
  Chooser chooser(topology, policyOf(row("alltoall", 8, R"("algorithm":"pairwise")")));
  EXPECT_EQ(chooser.choose(opOf(HCCL_CMD_ALLTOALL), 4000).text(), "pairwise");
  EXPECT_EQ(chooser.choose(opOf(HCCL_CMD_ALLTOALLV), 0).text(), "fullmesh");
}

// Every candidate is one that the operation may run with, whatever the model thinks of it.
TEST(Chooser, CandidatesAreLegal) {
  for (const std::vector<uint32_t>& servers :
       std::vector<std::vector<uint32_t>>{{5}, {1, 1, 1}, {2, 2, 2}, {4, 4}}) {
    const plan::Topology topology = clusterOf(servers);
    Chooser chooser(topology, {});
    for (const HcclCMDType type :
         {HCCL_CMD_ALLREDUCE, HCCL_CMD_BROADCAST, HCCL_CMD_REDUCE, HCCL_CMD_ALLGATHER,
          HCCL_CMD_REDUCE_SCATTER, HCCL_CMD_SCATTER, HCCL_CMD_ALLTOALL, HCCL_CMD_ALLTOALLV}) {
      const auto& candidates = chooser.candidates(type);
      EXPECT_FALSE(candidates.empty());
      for (const plan::Candidate& candidate : candidates) {
        const plan::Schedule schedule = plan::compose(opOf(type), topology, candidate.choice);
        for (const plan::Stage& stage : schedule.stages) {
          const auto members = static_cast<uint32_t>(stage.groups[0].ranks.size());
          EXPECT_TRUE(stage.row->algorithm->supports(stage.op)) << candidate.choice.text();
          EXPECT_TRUE(stage.row->algorithm->supportsSize(stage.op, members));
          EXPECT_TRUE(!stage.oneShot || stage.row->algorithm->supportsOneShot(stage.op));
        }
        EXPECT_GT(candidate.terms.seconds(8), 0) << candidate.choice.text();
        EXPECT_GE(candidate.terms.seconds(1 << 30), candidate.terms.seconds(8));
      }
    }
  }
}

// What was measured where ranks share processors (docs/algorithms.md).
TEST(Chooser, CrowdedRanksMeetAtOneForSmallData) {
  const plan::Topology topology = plan::Topology::flat(4);
  Policy policy;
  policy.links.crowding = 2;
  Chooser crowded(topology, policy);
  EXPECT_EQ(crowded.choose(opOf(HCCL_CMD_ALLREDUCE), 64).text(), "star");
  EXPECT_EQ(crowded.choose(opOf(HCCL_CMD_ALLREDUCE), 1 << 20).text(), "fullmesh");
  Chooser alone(topology, {});
  EXPECT_EQ(alone.choose(opOf(HCCL_CMD_ALLREDUCE), 64).level0->token, std::string("fullmesh"));
}

}  // namespace
}  // namespace hccl::test
