// The cost model against the closed forms, and what it says about small and large data.
#include <gtest/gtest.h>

#include <numeric>

#include "src/plan/cost_model.h"

namespace hccl::plan {
namespace {

double estimateFlat(const char* algorithm, uint32_t ranks, uint64_t bytes, bool oneShot = false) {
  OpDesc op;
  op.count = bytes;
  Choice choice;
  choice.level0 = findAlgorithm(algorithm);
  choice.oneShot0 = oneShot;
  return estimate(op, Topology::flat(ranks), choice, bytes, {CostClass::kRdma, CostClass::kRdma});
}

// Ring over RoCE, one rank a server: every round waits for a neighbour and has two contacts; half
// of the rounds reduce, which touches three operands.
TEST(CostModel, IsTheClosedFormOfARing) {
  const LinkConstants link = constantsOf(CostClass::kRdma);
  for (const uint32_t p : {2U, 5U, 8U, 32U}) {
    std::vector<uint32_t> servers(p);
    std::iota(servers.begin(), servers.end(), 0);
    OpDesc op;
    Choice choice;
    choice.level0 = findAlgorithm("ring");
    const double n = 1 << 20;
    const double rounds = 2.0 * (p - 1);
    const double expected = rounds * (link.step + link.network + 2 * link.contact) +
                            n * rounds / p * (link.wire + 1.5 * link.touch);
    EXPECT_NEAR(estimate(op, Topology::fromServers(servers), choice, 1 << 20, {}) / expected, 1,
                1e-9)
        << p;
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
