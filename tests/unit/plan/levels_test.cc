// Servers and super-pods of any sizes: which levels an operation goes through.
#include <gtest/gtest.h>

#include "src/plan/selector.h"
#include "tests/unit/plan/topologies.h"

namespace hccl::test {
namespace {

std::string levels(HcclCMDType type, const plan::Topology& topology, const std::string& config) {
  plan::OpDesc op;
  op.type = type;
  op.count = 1 << 24;
  const plan::Choice choice =
      plan::select(op, topology, *parseAlgoConfig(config), false, 1ULL << 26);
  return plan::compose(op, topology, choice).name;
}

TEST(Topology, ServersOfSuperPods) {
  const plan::Topology t = clusterOf({2, 2, 2}, {1, 2});
  EXPECT_EQ(t.superPods, (std::vector<std::vector<uint32_t>>{{0}, {1, 2}}));
  EXPECT_EQ(t.superPodOf, (std::vector<uint32_t>{0, 1, 1}));
  EXPECT_TRUE(t.uniform());
  EXPECT_FALSE(t.uniformSuperPods());
  EXPECT_EQ(plan::Topology::fromServers({4, 4, 7}).superPods,
            (std::vector<std::vector<uint32_t>>{{0, 1}}));
}

TEST(Levels, ThreeOfThem) {
  const plan::Topology t = clusterOf({2, 2, 2, 2, 2, 2}, {3, 3});
  EXPECT_EQ(levels(HCCL_CMD_ALLREDUCE, t, ""), "fullmesh-ring-NHR");
  EXPECT_EQ(levels(HCCL_CMD_ALLREDUCE, t, "level0:NA;level1:NHR;level2:ring"), "fullmesh-NHR-ring");
  EXPECT_EQ(levels(HCCL_CMD_BROADCAST, t, "level0:NA;level1:ring;level2:H-D_R"),
            "fullmesh-ring-H-D");
  EXPECT_EQ(levels(HCCL_CMD_ALLGATHER, t,
                   "allgather=level0:NA;level1:NB;level2:NB/"
                   "others=level0:NA;level1:ring"),
            "fullmesh-NB-NB");
  EXPECT_EQ(levels(HCCL_CMD_REDUCE, t,
                   "allgather=level0:NA;level1:NB;level2:NB/"
                   "others=level0:NA;level1:ring"),
            "fullmesh-ring-NHR");
  EXPECT_EQ(levels(HCCL_CMD_REDUCE_SCATTER, t, "level0:NA;level1:pipeline;level2:NHR"),
            "fullmesh-pipeline-NHR");
  EXPECT_EQ(levels(HCCL_CMD_REDUCE_SCATTER, t, "level0:NA;level1:NHR;level2:pipeline"),
            "fullmesh-null-pipeline");
  EXPECT_EQ(levels(HCCL_CMD_ALLREDUCE, t, "level0:NA;level1:AHC"), "fullmesh-null-AHC");
  EXPECT_EQ(levels(HCCL_CMD_ALLREDUCE, t, "level0:null;level1:NHR"), "NHR-null-null");
}

TEST(Levels, SuperPodsOfOneServer) {
  const plan::Topology t = clusterOf({2, 2, 2, 2}, {1, 1, 1, 1});
  EXPECT_EQ(levels(HCCL_CMD_ALLREDUCE, t, ""), "fullmesh-null-NHR");
  EXPECT_EQ(levels(HCCL_CMD_ALLREDUCE, t, "level0:NA;level1:NHR;level2:ring"),
            "fullmesh-null-ring");
}

TEST(Levels, UnequalSuperPods) {
  const plan::Topology t = clusterOf({2, 2, 2}, {1, 2});
  for (const HcclCMDType type : {HCCL_CMD_ALLREDUCE, HCCL_CMD_REDUCE_SCATTER, HCCL_CMD_ALLGATHER}) {
    EXPECT_EQ(levels(type, t, ""), "fullmesh-null-AHC");
    EXPECT_EQ(levels(type, t, "level0:NA;level1:AHC_BROKE"), "fullmesh-null-AHC_BROKE");
  }
  EXPECT_EQ(levels(HCCL_CMD_BROADCAST, t, ""), "fullmesh-NHR-null");
}

// A stage joins the ranks that differ in one level alone, and all ranks take part.
TEST(Levels, StagesOfAnAllReduce) {
  const plan::Topology t = clusterOf({2, 2, 2, 2}, {2, 2});
  plan::OpDesc op;
  op.count = 1 << 20;
  const plan::Choice choice = plan::select(op, t, AlgoConfig(), false, 4ULL << 20);
  const plan::Schedule schedule = plan::compose(op, t, choice);
  ASSERT_EQ(schedule.stages.size(), 5U);
  EXPECT_EQ(schedule.blocks, 8U);
  const std::vector<std::vector<uint32_t>> first[] = {
      {{0, 1}}, {{0, 2}}, {{0, 4}}, {{0, 2}}, {{0, 1}}};
  const plan::StageOp ops[] = {plan::StageOp::kReduceScatter, plan::StageOp::kReduceScatter,
                               plan::StageOp::kAllReduce, plan::StageOp::kAllGather,
                               plan::StageOp::kAllGather};
  for (size_t s = 0; s < 5; ++s) {
    EXPECT_EQ(schedule.stages[s].op, ops[s]);
    EXPECT_EQ(schedule.stages[s].groups.size(), 4U);
    EXPECT_EQ(schedule.stages[s].groups[0].ranks, first[s][0]);
  }
}

}  // namespace
}  // namespace hccl::test
