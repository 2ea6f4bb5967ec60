// The cost model against the closed forms, and what it says about small and large data.
#include <gtest/gtest.h>

#include "src/plan/cost_model.h"
#include "src/verify/closed_form.h"

namespace hccl::plan {
namespace {

double estimateFlat(const char* algorithm, uint32_t ranks, uint64_t bytes, bool oneShot = false) {
  OpDesc op;
  op.count = bytes;
  Choice choice;
  choice.level0 = findAlgorithm(algorithm);
  choice.oneShot0 = oneShot;
  return estimate(op, Topology::flat(ranks), choice, bytes, {});
}

TEST(CostModel, IsTheClosedFormWhereThereIsOne) {
  const LinkConstants link = constantsOf(CostClass::kShared);
  for (const char* algorithm : {"ring", "NHR", "NB", "H-D_R"}) {
    for (uint32_t ranks : {2U, 8U, 32U}) {
      const auto expected = verify::closedForm(algorithm, StageOp::kAllReduce, false, ranks,
                                               1 << 20, {link.alpha, link.beta}, link.gamma);
      ASSERT_TRUE(expected);
      EXPECT_NEAR(estimateFlat(algorithm, ranks, 1 << 20) / *expected, 1, 0.02)
          << algorithm << " " << ranks;
    }
  }
}

TEST(CostModel, FewStepsWinForSmallDataAndLittleVolumeForLarge) {
  EXPECT_LT(estimateFlat("NHR", 16, 1 << 10, true), estimateFlat("ring", 16, 1 << 10));
  EXPECT_GT(estimateFlat("NHR", 16, 1 << 28, true), estimateFlat("ring", 16, 1 << 28));
}

TEST(CostModel, SlowerLinksBetweenServersCost) {
  OpDesc op;
  op.count = 1 << 20;
  const Topology topology = Topology::fromServers({0, 0, 1, 1});
  Choice choice;
  choice.level0 = findAlgorithm("fullmesh");
  choice.level1 = findAlgorithm("NHR");
  const double rdma =
      estimate(op, topology, choice, 1 << 20, {CostClass::kShared, CostClass::kRdma});
  const double tcp = estimate(op, topology, choice, 1 << 20, {CostClass::kShared, CostClass::kTcp});
  EXPECT_GT(tcp, rdma);
}

TEST(CostModel, ClassesHaveNames) {
  for (CostClass cls : {CostClass::kShared, CostClass::kRdma, CostClass::kTcp}) {
    EXPECT_EQ(costClassOf(costClassName(cls)), cls);
  }
  EXPECT_FALSE(costClassOf("carrier pigeon"));
}

}  // namespace
}  // namespace hccl::plan
