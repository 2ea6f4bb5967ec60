// Every collective x algorithm x link class x rank count x count x in place, on a cluster of plain
// memory.
#include <gtest/gtest.h>

#include "tests/unit/executor/experiment.h"

namespace hccl::test {
namespace {

const HcclCMDType kTypes[] = {
    HCCL_CMD_ALLREDUCE,        HCCL_CMD_REDUCE,    HCCL_CMD_BROADCAST,   HCCL_CMD_REDUCE_SCATTER,
    HCCL_CMD_REDUCE_SCATTER_V, HCCL_CMD_ALLGATHER, HCCL_CMD_ALLGATHER_V, HCCL_CMD_SCATTER,
    HCCL_CMD_ALLTOALL,         HCCL_CMD_ALLTOALLV};

std::vector<std::string> flatAlgorithms() {
  std::vector<std::string> names;
  for (const plan::AlgorithmRow& row : plan::algorithmRows()) {
    if (!row.algorithm->spansLevels()) names.emplace_back(row.token);
  }
  return names;
}

class Collectives : public testing::TestWithParam<HcclCMDType> {};

TEST_P(Collectives, FlatAlgorithmsOnEveryLinkClass) {
  uint32_t seed = 1;
  uint32_t cases = 0;
  for (const std::string& algorithm : flatAlgorithms()) {
    for (bool oneShot : {false, true}) {
      for (Mix mix : {Mix::kInProcess, Mix::kArena, Mix::kMalloc, Mix::kTcp}) {
        for (uint32_t ranks = 1; ranks <= 9; ++ranks) {
          for (uint64_t count : {0ULL, 1ULL, 1000ULL, 5001ULL}) {
            for (bool inPlace : {false, true}) {
              Case c{GetParam(), algorithm,          "",     oneShot, mix, {ranks},
                     count,      (seed * 7) % ranks, inPlace};
              const bool toAll = plan::isAllToAll(c.type);
              if (!available(c) || (inPlace && (toAll || plan::hasVaryingBlocks(c.type)))) continue;
              if (ranks == 1 && algorithm != "fullmesh") continue;
              if (ranks > 5 && count == 1000) continue;
              ++cases;
              ASSERT_EQ(runCase(c, ++seed), "") << c.text();
            }
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 100U);
}

TEST_P(Collectives, HierarchiesOverUniformServers) {
  uint32_t seed = 1;
  if (plan::isAllToAll(GetParam())) return;  // flat by design
  for (const plan::AlgorithmRow& row : plan::algorithmRows()) {
    for (bool oneShot : {false, true}) {
      for (Mix mix : {Mix::kServers, Mix::kServersMalloc, Mix::kTcp, Mix::kInProcess}) {
        for (const std::vector<uint32_t>& servers : std::vector<std::vector<uint32_t>>{
                 {2, 2}, {2, 2, 2}, {3, 3}, {4, 4}, {2, 2, 2, 2, 2}}) {
          for (uint64_t count : {1ULL, 5001ULL}) {
            Case c{GetParam(), "fullmesh", row.token, oneShot, mix, servers, count, 0};
            if (!available(c)) continue;
            c.inPlace = ++seed % 2 == 0 && !plan::hasVaryingBlocks(c.type);
            c.root = (seed * 5) % c.ranks();
            ASSERT_EQ(runCase(c, seed), "") << c.text();
          }
        }
      }
    }
  }
}

// Unequal servers, and super-pods of servers: what joins levels, and three levels.
TEST_P(Collectives, UnequalServers) {
  uint32_t seed = 1;
  uint32_t cases = 0;
  for (const char* level1 : {"AHC", "AHC_BROKE"}) {
    for (Mix mix : {Mix::kServers, Mix::kServersMalloc, Mix::kTcp, Mix::kInProcess}) {
      for (const std::vector<uint32_t>& servers :
           std::vector<std::vector<uint32_t>>{{1, 2}, {3, 2}, {4, 1, 3}, {2, 3, 2}, {1, 1, 1, 4}}) {
        for (uint64_t count : {1ULL, 5001ULL}) {
          for (bool inPlace : {false, true}) {
            Case c{GetParam(), "fullmesh", level1, false, mix, servers, count, 0, inPlace};
            if (!available(c) || (inPlace && plan::hasVaryingBlocks(c.type))) continue;
            ++cases;
            ASSERT_EQ(runCase(c, ++seed), "") << c.text();
          }
        }
      }
    }
  }
  const plan::StageOp op = plan::stageOpOf(GetParam());
  EXPECT_EQ(cases > 0, op == plan::StageOp::kAllReduce || op == plan::StageOp::kReduceScatter ||
                           op == plan::StageOp::kAllGather);
}

TEST_P(Collectives, ThreeLevels) {
  uint32_t seed = 1;
  struct Shape {
    std::vector<uint32_t> servers, superPods;
  };
  const std::vector<Shape> shapes = {{{2, 2, 2, 2}, {2, 2}},
                                     {{1, 1, 1, 1, 1, 1}, {2, 2, 2}},
                                     {{2, 2}, {1, 1}},
                                     {{2, 2, 2}, {2, 1}},
                                     {{2, 2, 2, 2}, {1, 3}}};
  for (const char* level1 : {"ring", "NHR", "H-D_R", "NHR_V1", "pipeline", "AHC", ""}) {
    for (const char* level2 : {"NHR", "ring", "NB", "H-D_R", "pipeline", "AHC", "AHC_BROKE"}) {
      for (Mix mix : {Mix::kServers, Mix::kServersMalloc, Mix::kTcp}) {
        for (const Shape& shape : shapes) {
          for (uint64_t count : {1ULL, 5001ULL}) {
            const bool inPlace = ++seed % 2 == 0 && !plan::hasVaryingBlocks(GetParam());
            Case c{GetParam(), "fullmesh", level1, seed % 3 == 0,  mix, shape.servers, count,
                   0,          inPlace,    level2, shape.superPods};
            c.root = (seed * 5) % c.ranks();
            const plan::Topology topology = topologyOf(c);
            const bool joins = choiceOf(c).level2->algorithm->spansLevels();
            // Level 1 is empty where level 2 joins it or super-pods are unequal or of one server.
            if (*level1 == '\0' && !joins && topology.superPods[0].size() > 1) continue;
            if (*level1 != '\0' && joins) continue;
            if (!topology.uniformSuperPods() && !joins) continue;
            if (!available(c)) continue;
            ASSERT_EQ(runCase(c, seed), "") << c.text();
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Collectives, testing::ValuesIn(kTypes), [](const auto& tested) {
  return std::string(plan::opName(tested.param));
});

// Different operations back to back, nobody waits for anybody between them.
TEST(Sequences, MixedOperationsWithoutSynchronisation) {
  for (Mix mix : {Mix::kInProcess, Mix::kMalloc, Mix::kArena, Mix::kTcp, Mix::kServers,
                  Mix::kServersMalloc}) {
    std::mt19937 random(static_cast<uint32_t>(mix) + 5);
    std::vector<std::unique_ptr<Experiment>> experiments;
    std::vector<FakeWorld::Operation> operations;
    Case first{HCCL_CMD_ALLREDUCE, "fullmesh", "", false, mix, {2, 2}, 1, 0, false};
    for (int i = 0; i < 200; ++i) {
      Case c = first;
      const std::vector<std::string> names = flatAlgorithms();
      do {
        c.type = kTypes[random() % std::size(kTypes)];
        c.level0 = names[random() % names.size()];
        c.oneShot = random() % 2 == 0;
      } while (!available(c));
      c.count = random() % 2 == 0 ? random() % 50 : random() % 5000;
      c.root = random() % 4;
      experiments.push_back(std::make_unique<Experiment>(c));
      operations.push_back({experiments.back()->calls, choiceOf(c)});
    }
    ASSERT_EQ(worldOf(first, 99)->runAll(operations, topologyOf(first)), "") << mixName(mix);
    for (size_t i = 0; i < experiments.size(); ++i)
      ASSERT_EQ(experiments[i]->check(), "") << mixName(mix) << " " << i;
  }
}

// A rank that calls something else is named, with both values.
TEST(Mismatch, NamesParameterValuesAndRank) {
  for (Mix mix : {Mix::kInProcess, Mix::kTcp}) {
    Case c{HCCL_CMD_ALLREDUCE, "fullmesh", "", false, mix, {3}, 100, 0, false};
    Experiment experiment(c);
    experiment.calls[2].count = 99;
    const std::string trouble = worldOf(c, 3)->run(experiment.calls, topologyOf(c), choiceOf(c));
    EXPECT_NE(trouble.find("count"), std::string::npos) << trouble;
    EXPECT_NE(trouble.find("99 (rank 2)"), std::string::npos) << trouble;
  }
}

}  // namespace
}  // namespace hccl::test
