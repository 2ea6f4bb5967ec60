// Which algorithm an operation gets: the configured one where it does the operation, else the
// stand-in that HCCL documents, and nothing else.
#include "src/plan/selector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/unit/plan/topologies.h"

namespace hccl::test {
namespace {

constexpr uint64_t kLarge = 64ULL << 20;

AlgoConfig configOf(const std::string& text) {
  const auto config = parseAlgoConfig(text);
  EXPECT_TRUE(config.has_value()) << text;
  return config.value_or(AlgoConfig());
}

plan::OpDesc opOf(HcclCMDType type) {
  plan::OpDesc op;
  op.type = type;
  op.count = kLarge / 4;
  return op;
}

// The name of level 1 in "level0-level1-level2"; of the only level when it is flat. H-D has a
// hyphen of its own.
std::string executed(HcclCMDType type, const plan::Topology& topology, const std::string& config,
                     std::string* note = nullptr, uint64_t bytes = kLarge) {
  const plan::OpDesc op = opOf(type);
  const plan::Choice choice = plan::select(op, topology, configOf(config), false, bytes);
  if (note != nullptr) *note = choice.note;
  const plan::Schedule schedule = plan::compose(op, topology, choice);
  const plan::AlgorithmRow* row = choice.level1 != nullptr ? choice.level1 : choice.level0;
  EXPECT_NE(schedule.name.find(row->logName), std::string::npos);
  // What the schedule runs is what the choice says.
  EXPECT_TRUE(std::any_of(schedule.stages.begin(), schedule.stages.end(),
                          [&](const plan::Stage& stage) { return stage.row == row; }))
      << schedule.name;
  return row->token;
}

const std::vector<HcclCMDType> kTypes = {
    HCCL_CMD_REDUCE_SCATTER, HCCL_CMD_REDUCE_SCATTER_V, HCCL_CMD_ALLGATHER, HCCL_CMD_ALLGATHER_V,
    HCCL_CMD_ALLREDUCE,      HCCL_CMD_BROADCAST,        HCCL_CMD_REDUCE,    HCCL_CMD_SCATTER};

// HCCL's support lists between servers; more is allowed to work.
bool documented(const std::string& token, HcclCMDType type) {
  using Types = std::set<HcclCMDType>;
  static const Types three = {HCCL_CMD_REDUCE_SCATTER, HCCL_CMD_ALLGATHER, HCCL_CMD_ALLREDUCE};
  static const Types nhr = {HCCL_CMD_REDUCE_SCATTER, HCCL_CMD_ALLGATHER,        HCCL_CMD_ALLREDUCE,
                            HCCL_CMD_BROADCAST,      HCCL_CMD_REDUCE_SCATTER_V, HCCL_CMD_SCATTER,
                            HCCL_CMD_ALLGATHER_V};
  static const std::map<std::string, Types> lists = {
      {"ring",
       {HCCL_CMD_REDUCE_SCATTER, HCCL_CMD_ALLGATHER, HCCL_CMD_ALLREDUCE, HCCL_CMD_REDUCE,
        HCCL_CMD_REDUCE_SCATTER_V, HCCL_CMD_SCATTER, HCCL_CMD_ALLGATHER_V}},
      {"H-D_R",
       {HCCL_CMD_REDUCE_SCATTER, HCCL_CMD_ALLGATHER, HCCL_CMD_ALLREDUCE, HCCL_CMD_BROADCAST,
        HCCL_CMD_REDUCE}},
      {"NHR", nhr},
      {"NB", nhr},
      {"NHR_V1",
       {HCCL_CMD_REDUCE_SCATTER, HCCL_CMD_ALLGATHER, HCCL_CMD_ALLREDUCE, HCCL_CMD_BROADCAST}},
      {"AHC", three},
      {"AHC_BROKE", three},
      {"pipeline",
       {HCCL_CMD_REDUCE_SCATTER, HCCL_CMD_ALLGATHER, HCCL_CMD_ALLREDUCE, HCCL_CMD_ALLGATHER_V}},
  };
  return lists.at(token).contains(type);
}

// The stand-ins that HCCL documents, in no order.
std::set<std::string> standIns(const std::string& token) {
  if (token == "ring") return {"NHR", "H-D_R"};
  if (token == "NHR") return {"H-D_R", "ring"};
  return {"NHR", "H-D_R", "ring"};
}

TEST(Selector, ConfiguredAlgorithmOrItsDocumentedStandIn) {
  for (const std::vector<uint32_t>& servers :
       std::vector<std::vector<uint32_t>>{{4, 4}, {2, 2, 2}, {3, 3, 3, 3, 3}}) {
    const plan::Topology topology = clusterOf(servers);
    for (const std::string token :
         {"ring", "H-D_R", "NHR", "NB", "NHR_V1", "AHC", "AHC_BROKE", "pipeline"}) {
      for (const HcclCMDType type : kTypes) {
        std::string note;
        const std::string got = executed(type, topology, "level0:NA;level1:" + token, &note);
        const std::string what = token + " for " + plan::opName(type) + " ran " + got;
        if (documented(token, type)) {
          EXPECT_EQ(got, token) << what;
        }
        if (got == token) {
          EXPECT_EQ(note, "") << what;
        } else {
          EXPECT_TRUE(standIns(token).contains(got)) << what;
          EXPECT_NE(note.find(token + " is not available"), std::string::npos) << what << note;
          EXPECT_NE(note.find(got + " is used"), std::string::npos) << what << note;
        }
      }
    }
  }
}

TEST(Selector, AllToAllBetweenServers) {
  const plan::Topology topology = clusterOf({2, 2});
  for (const HcclCMDType type : {HCCL_CMD_ALLTOALL, HCCL_CMD_ALLTOALLV, HCCL_CMD_ALLTOALLVC}) {
    std::string note;
    EXPECT_EQ(executed(type, topology, "level0:NA;level1:pairwise", &note), "pairwise");
    EXPECT_EQ(executed(type, topology, "level0:NA;level1:fullmesh", &note), "fullmesh");
    EXPECT_EQ(note, "");
    EXPECT_EQ(executed(type, topology, "level0:NA;level1:pipeline", &note), "pairwise");
    EXPECT_NE(note.find("pipeline is not available"), std::string::npos) << note;
  }
}

TEST(Selector, FullMeshAndPairwiseAreIgnoredByOtherOperations) {
  const plan::Topology topology = clusterOf({2, 2});
  for (const HcclCMDType type : kTypes) {
    const std::string byDefault = executed(type, topology, "");
    for (const char* token : {"fullmesh", "pairwise"}) {
      EXPECT_EQ(executed(type, topology, std::string("level0:NA;level1:") + token), byDefault);
    }
  }
}

TEST(Selector, BlocksOfOtherPairsNeedOneLength) {
  const plan::Topology topology = clusterOf(std::vector<uint32_t>(8, 1));
  EXPECT_EQ(executed(HCCL_CMD_ALLTOALL, topology, "", nullptr, 64), "bruck");
  EXPECT_NE(executed(HCCL_CMD_ALLTOALLV, topology, "", nullptr, 0), "bruck");
  EXPECT_NE(executed(HCCL_CMD_ALLTOALLV, topology, "level0:NA;level1:bruck"), "bruck");
  const plan::Topology many = clusterOf(std::vector<uint32_t>(20, 1));
  EXPECT_EQ(executed(HCCL_CMD_ALLTOALL, many, ""), "groupedmesh");
}

TEST(Selector, DefaultsBetweenServers) {
  const auto servers = [](size_t n) { return clusterOf(std::vector<uint32_t>(n, 2)); };
  for (const HcclCMDType type : {HCCL_CMD_ALLREDUCE, HCCL_CMD_ALLGATHER, HCCL_CMD_SCATTER}) {
    EXPECT_EQ(executed(type, servers(3), ""), "ring");
    EXPECT_EQ(executed(type, servers(4), ""), "NHR");
    EXPECT_EQ(executed(type, servers(7), ""), "ring");
    EXPECT_EQ(executed(type, servers(9), ""), "NHR");
  }
  EXPECT_EQ(executed(HCCL_CMD_BROADCAST, servers(3), ""), "NHR");  // ring has none
  EXPECT_EQ(executed(HCCL_CMD_ALLREDUCE, servers(3), "", nullptr, 64), "doubling");
  EXPECT_EQ(executed(HCCL_CMD_BROADCAST, servers(4), "", nullptr, 1 << 20), "doubletree");
  EXPECT_EQ(executed(HCCL_CMD_BROADCAST, servers(4), "", nullptr, 1 << 10), "NHR");
}

TEST(Selector, UnequalServersAreOneRingUnlessAhcIsAsked) {
  const plan::Topology topology = clusterOf({3, 2, 4});
  EXPECT_EQ(executed(HCCL_CMD_ALLREDUCE, topology, ""), "ring");
  EXPECT_EQ(executed(HCCL_CMD_ALLREDUCE, topology, "level0:NA;level1:AHC"), "AHC");
  EXPECT_EQ(executed(HCCL_CMD_ALLGATHER, topology, "level0:NA;level1:AHC_BROKE"), "AHC_BROKE");
  std::string note;
  EXPECT_EQ(executed(HCCL_CMD_BROADCAST, topology, "level0:NA;level1:AHC", &note), "NHR");
  EXPECT_NE(note, "");
}

TEST(Selector, StrictTakesOnlyWhatKeepsTheOrder) {
  const plan::Topology topology = clusterOf({2, 2});
  for (const plan::AlgorithmRow& row : plan::algorithmRows()) {
    const AlgoConfig config = configOf(std::string("level0:NA;level1:") + row.token);
    for (const HcclCMDType type : {HCCL_CMD_ALLREDUCE, HCCL_CMD_REDUCE, HCCL_CMD_REDUCE_SCATTER,
                                   HCCL_CMD_REDUCE_SCATTER_V}) {
      const plan::Choice choice = plan::select(opOf(type), topology, config, true, kLarge);
      EXPECT_EQ(choice.level1, nullptr) << row.token;
      EXPECT_TRUE(choice.level0->algorithm->keepsOrder(plan::stageOpOf(type))) << row.token;
    }
  }
}

}  // namespace
}  // namespace hccl::test
