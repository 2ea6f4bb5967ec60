// The registry: every row says what it is, and its closed form agrees with its moves.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "src/plan/algorithm.h"

namespace hccl::test {
namespace {

using plan::StageOp;
constexpr StageOp kOps[] = {StageOp::kReduceScatter, StageOp::kAllGather, StageOp::kAllReduce,
                            StageOp::kBroadcast,     StageOp::kScatter,   StageOp::kGather,
                            StageOp::kReduce,        StageOp::kAllToAll};

TEST(Registry, RowsAreComplete) {
  std::set<int> ids;
  std::set<std::string> tokens;
  for (const plan::AlgorithmRow& row : plan::algorithmRows()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.token;
    EXPECT_TRUE(tokens.insert(row.token).second) << row.token;
    EXPECT_GT(row.id, 0) << row.token;
    EXPECT_LT(row.id, 32) << row.token;
    EXPECT_NE(std::string(row.description), "") << row.token;
    EXPECT_EQ(plan::findAlgorithm(row.token), &row);
    bool any = false;
    for (const StageOp op : kOps) any = any || row.algorithm->supports(op);
    EXPECT_TRUE(any) << row.token;
  }
  for (const char* token : {"ring", "H-D_R", "NHR", "NHR_V1", "NB", "pairwise", "fullmesh",
                            "pipeline", "AHC", "AHC_BROKE", "star"}) {
    EXPECT_TRUE(tokens.contains(token)) << token;
  }
  EXPECT_EQ(plan::findAlgorithm("no such thing"), nullptr);
}

// No member's work in a round is more than the closed form says, and it says no more than is done.
TEST(Registry, ClosedFormsAgreeWithTheMoves) {
  for (const plan::AlgorithmRow& row : plan::algorithmRows()) {
    for (const StageOp op : kOps) {
      for (uint32_t size = 2; size <= 20; ++size) {
        if (row.algorithm->spansLevels() || !row.algorithm->supports(op) ||
            !row.algorithm->supportsSize(op, size)) {
          continue;
        }
        for (const bool oneShot : {false, true}) {
          if (oneShot && !row.algorithm->supportsOneShot(op)) continue;
          const plan::StageArgs args{op, size, size / 2, oneShot, nullptr};
          const plan::Cost form = row.algorithm->cost(args);
          const plan::Cost counted = plan::costOfMoves(*row.algorithm, args);
          const std::string what = std::string(row.token) + " op " +
                                   std::to_string(static_cast<int>(op)) + " size " +
                                   std::to_string(size) + (oneShot ? " one-shot" : "");
          EXPECT_DOUBLE_EQ(form.steps, counted.steps) << what;
          EXPECT_NEAR(form.volume, counted.volume, 1e-9) << what;
          EXPECT_NEAR(form.reduced, counted.reduced, 1e-9) << what;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hccl::test
