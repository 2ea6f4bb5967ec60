// The simulator against closed forms, against itself, and against shared links.
#include <gtest/gtest.h>

#include "src/verify/sim_case.h"

namespace hccl::verify {
namespace {

NetworkSpec network() {
  NetworkSpec spec;
  spec.inside = spec.between = {5e-6, 1.0 / 25e9};
  spec.gamma = 1.0 / 40e9;
  return spec;
}

SimCase caseOf(HcclCMDType type, const std::string& algorithm, uint32_t ranks, uint64_t bytes) {
  SimCase what;
  what.type = type;
  what.algorithm = algorithm;
  what.ranks = ranks;
  what.bytes = bytes;
  return what;
}

void expectClosedForm(const SimCase& what) {
  const SimRow row = runCase(what, network());
  ASSERT_EQ(row.error, "");
  ASSERT_TRUE(row.closedForm) << what.algorithm;
  EXPECT_NEAR(row.result.seconds / *row.closedForm, 1.0, 0.01)
      << what.algorithm << " " << plan::opName(what.type) << " " << what.ranks << " ranks";
}

TEST(Simulator, AgreesWithClosedForms) {
  for (uint32_t ranks : {2U, 4U, 7U, 8U, 16U, 31U, 64U}) {
    const uint64_t bytes = uint64_t{ranks} << 16;
    for (const char* algorithm : {"ring", "NHR", "NB"}) {
      for (HcclCMDType type : {HCCL_CMD_ALLREDUCE, HCCL_CMD_REDUCE_SCATTER, HCCL_CMD_ALLGATHER}) {
        expectClosedForm(caseOf(type, algorithm, ranks, bytes));
      }
    }
    expectClosedForm(caseOf(HCCL_CMD_ALLREDUCE, "H-D_R", ranks, bytes));
  }
}

TEST(Simulator, AgreesWithClosedFormsOfTrees) {
  for (uint32_t ranks : {2U, 8U, 16U, 64U}) {
    for (HcclCMDType type : {HCCL_CMD_ALLREDUCE, HCCL_CMD_BROADCAST, HCCL_CMD_REDUCE}) {
      SimCase what = caseOf(type, "NHR", ranks, 4096);
      what.oneShot = true;
      expectClosedForm(what);
    }
  }
}

// Rounds that do not wait for each other overlap, which closed forms do not know.
TEST(Simulator, IsNeverSlowerThanTheClosedForm) {
  for (uint32_t ranks : {3U, 5U, 6U, 12U, 24U, 48U}) {
    for (const char* algorithm : {"ring", "NHR", "NB", "H-D_R"}) {
      const SimRow row =
          runCase(caseOf(HCCL_CMD_ALLREDUCE, algorithm, ranks, uint64_t{ranks} << 14), network());
      ASSERT_TRUE(row.closedForm);
      EXPECT_LE(row.result.seconds / *row.closedForm, 1.01) << algorithm << " " << ranks;
    }
  }
}

// One plan for all ranks takes the time of everybody's own plan.
TEST(Simulator, FoldingChangesNothing) {
  for (const char* algorithm : {"ring", "NHR", "NB", "H-D_R"}) {
    for (uint32_t ranks : {4U, 16U, 32U}) {
      SimCase what = caseOf(HCCL_CMD_ALLREDUCE, algorithm, ranks, uint64_t{ranks} << 12);
      const SimRow folded = runCase(what, network());
      what.fold = false;
      const SimRow each = runCase(what, network());
      ASSERT_NE(folded.symmetry, Symmetry::kNone) << algorithm;
      ASSERT_EQ(each.symmetry, Symmetry::kNone);
      EXPECT_NEAR(folded.result.seconds, each.result.seconds, 1e-12) << algorithm << ranks;
    }
  }
}

// A plan lowered among its neighbours is the plan lowered among all.
TEST(Simulator, SparsePlansAreThePlans) {
  for (const char* algorithm : {"ring", "NHR", "NB", "H-D_R"}) {
    WorldSpec spec;
    spec.op.count = 13 * 64;
    spec.topology = plan::Topology::flat(13);
    spec.choice.level0 = plan::findAlgorithm(algorithm);
    spec.link = [](uint32_t, uint32_t) { return plan::PeerLink::kMessage; };
    const World dense = buildWorld(spec);
    const World sparse = buildSparseWorld(spec);
    for (uint32_t r = 0; r < 13; ++r) {
      ASSERT_EQ(dense.plans[r].steps.size(), sparse.plans[r].steps.size()) << algorithm;
      EXPECT_EQ(digestOf(dense.plans[r]), digestOf(sparse.plans[r])) << algorithm << " rank " << r;
    }
  }
}

TEST(Simulator, IncastSharesThePort) {
  // Everybody sends to the root at once: with a shared port they come one after the other.
  const SimCase what = caseOf(HCCL_CMD_REDUCE, "fullmesh", 8, 8 << 20);
  NetworkSpec spec = network();
  spec.gamma = 0;
  const double apart = runCase(what, spec).result.seconds;
  spec.port = spec.between.beta;
  const double shared = runCase(what, spec).result.seconds;
  EXPECT_GT(shared, 3 * apart);
}

// The messages of different rounds overlap; on one port they still pass one by one.
TEST(Simulator, PairwiseFillsThePort) {
  NetworkSpec spec = network();
  spec.port = spec.between.beta;
  const double bytes = 16 << 20;
  const SimRow row = runCase(caseOf(HCCL_CMD_ALLTOALL, "pairwise", 16, 16 << 20), spec);
  const double expected = spec.between.alpha + bytes * 15 / 16 * spec.between.beta;
  EXPECT_NEAR(row.result.seconds / expected, 1, 0.01);
}

TEST(Simulator, OversubscribedUplinksShow) {
  SimCase what = caseOf(HCCL_CMD_ALLTOALL, "pairwise", 16, 16 << 20);
  what.perServer = 4;
  NetworkSpec spec = network();
  spec.port = spec.between.beta;
  const double apart = runCase(what, spec).result.seconds;
  spec.uplink = spec.between.beta;  // four ranks on one link
  const double shared = runCase(what, spec).result.seconds;
  EXPECT_GT(shared, 2 * apart);
  EXPECT_LT(shared, 5 * apart);
}

TEST(Simulator, IterationsOverlap) {
  SimCase what = caseOf(HCCL_CMD_BROADCAST, "NHR", 8, 8 << 20);
  what.oneShot = true;
  const double whole = runCase(what, network()).result.seconds;
  what.chunkBytes = 1 << 20;
  const double chunked = runCase(what, network()).result.seconds;
  EXPECT_LT(chunked, whole);
}

TEST(Simulator, ManyRanksFolded) {
  const SimRow row = runCase(caseOf(HCCL_CMD_ALLREDUCE, "NHR", 2048, 8 << 20), network());
  ASSERT_EQ(row.error, "");
  EXPECT_EQ(row.symmetry, Symmetry::kRotation);
  EXPECT_NEAR(row.result.seconds / *row.closedForm, 1.0, 0.01);
}

TEST(Simulator, SaysWhatDoesNotGo) {
  EXPECT_NE(runCase(caseOf(HCCL_CMD_BROADCAST, "ring", 4, 100), network()).error, "");
  EXPECT_NE(runCase(caseOf(HCCL_CMD_ALLREDUCE, "ring", 1, 100), network()).error, "");
}

TEST(Network, ReadsItsFile) {
  const auto spec = parseNetwork(
      R"({"inside": {"alpha_us": 2, "gbps": 800}, "uplink_gbps": 400, "gamma_gbs": 10})");
  ASSERT_TRUE(spec);
  EXPECT_DOUBLE_EQ(spec->inside.alpha, 2e-6);
  EXPECT_DOUBLE_EQ(spec->inside.beta, 1e-11);
  EXPECT_DOUBLE_EQ(spec->between.beta, 1.0 / 25e9);
  EXPECT_DOUBLE_EQ(spec->uplink, 2e-11);
  EXPECT_DOUBLE_EQ(spec->gamma, 1e-10);
  EXPECT_FALSE(parseNetwork("[]"));
  EXPECT_FALSE(parseNetwork(R"({"uplink_gbps": -1})"));
}

}  // namespace
}  // namespace hccl::verify
