// Plans that are wrong in one known way, and what the checker says about each.
#include <gtest/gtest.h>

#include "src/verify/check.h"

namespace hccl::verify {
namespace {

using plan::Step;
using plan::StepKind;

World ring(plan::PeerLink link, uint64_t count = 300) {
  WorldSpec spec;
  spec.op.type = HCCL_CMD_ALLREDUCE;
  spec.op.count = count;
  spec.topology = plan::Topology::flat(3);
  spec.choice.level0 = plan::findAlgorithm("ring");
  spec.link = [link](uint32_t, uint32_t) { return link; };
  spec.chunkBytes = 3 * 128;
  return buildWorld(spec);
}

Step& stepOf(World& world, uint32_t rank, StepKind kind, uint32_t nth = 0) {
  for (Step& step : world.plans[rank].steps) {
    if (step.kind == kind && nth-- == 0) return step;
  }
  ADD_FAILURE() << "no such step";
  return world.plans[rank].steps[0];
}

TEST(Checker, AcceptsARightWorld) {
  EXPECT_EQ(checkAll(ring(plan::PeerLink::kDirect)), "");
  EXPECT_EQ(checkAll(ring(plan::PeerLink::kMessage)), "");
}

TEST(Checker, NamesTheElementThatIsWrong) {
  World world = ring(plan::PeerLink::kMessage);
  Step& step = stepOf(world, 1, StepKind::kCombine);
  world.plans[1].refs[world.plans[1].segmentPool[step.segment].refs + 2].block ^= 1;
  const auto finding = check(world, {});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fault, Fault::kWrongValue);
  EXPECT_EQ(finding->rank, 1U);
  const std::string text = finding->text(world.plans[1]);
  EXPECT_NE(text.find("Combine"), std::string::npos) << text;
  EXPECT_NE(text.find("logical element"), std::string::npos) << text;
}

TEST(Checker, FindsAnInputThatCountsTwice) {
  World world = ring(plan::PeerLink::kDirect);
  // Rank 2 reduces its own input with itself.
  Step& step = stepOf(world, 2, StepKind::kCombine);
  plan::Plan& plan = world.plans[2];
  plan.operandRanks[step.operand + 1] = 2;
  plan.refs[plan.segmentPool[step.segment].refs + 1] =
      plan.refs[plan.segmentPool[step.segment].refs + 2];
  const auto finding = check(world, {});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->found, "the input of rank 2 twice");
}

TEST(Checker, FindsADeadlock) {
  World world = ring(plan::PeerLink::kDirect);
  // Rank 0's first Open goes to the wrong neighbour.
  stepOf(world, 0, StepKind::kOpen).peer = 2;
  const auto finding = check(world, {});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fault, Fault::kDeadlock);
}

TEST(Checker, FindsARaceThatTheRunDidNotShow) {
  // In place, AllReduce writes where neighbours read: the ring waits for their Close.
  World world = ring(plan::PeerLink::kDirect);
  plan::Plan& plan = world.plans[1];
  // The first AwaitClose moves to the end of the lane.
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].kind != StepKind::kAwaitClose) continue;
    std::vector<uint32_t>& lane = plan.laneSteps[0];
    const auto at = std::find(lane.begin(), lane.end(), i);
    std::rotate(at, at + 1, lane.end());
    break;
  }
  const auto finding = check(world, {Overlap::kInPlace, Windows::kUser});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fault, Fault::kRace);
  EXPECT_NE(finding->expected.find("an order with"), std::string::npos);
}

TEST(Checker, FindsAnAccessAfterItsEnd) {
  World world = ring(plan::PeerLink::kDirect);
  plan::Plan& plan = world.plans[0];
  std::vector<uint32_t>& lane = plan.laneSteps[0];
  for (size_t i = 0; i + 1 < lane.size(); ++i) {
    if (plan.steps[lane[i]].kind != StepKind::kCombine) continue;
    ASSERT_EQ(plan.steps[lane[i + 1]].kind, StepKind::kClose);
    std::swap(lane[i], lane[i + 1]);
    break;
  }
  const auto finding = check(world, {});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fault, Fault::kUnguarded);
}

TEST(Checker, FindsASignalThatNobodyAwaits) {
  World world = ring(plan::PeerLink::kDirect);
  plan::Plan& plan = world.plans[0];
  const Step extra = stepOf(world, 0, StepKind::kClose);
  plan.laneSteps[0].push_back(static_cast<uint32_t>(plan.steps.size()));
  plan.steps.push_back(extra);
  const auto finding = check(world, {});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fault, Fault::kUnmatched);
}

TEST(Checker, FindsFramesOfDifferentSize) {
  // In the last iteration block 0 has 32 elements, block 1 has 20.
  World world = ring(plan::PeerLink::kMessage, 3 * 96 + 52);
  for (const Step& step : world.plans[0].steps) {
    plan::Segment& segment = world.plans[0].segmentPool[step.segment];
    if (step.kind != StepKind::kPut || segment.lengthBlock != 0) continue;
    segment.lengthBlock = 1;
    break;
  }
  const auto finding = check(world, {});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fault, Fault::kUnmatched);
}

TEST(Checker, FindsStagingBeyondTheBuffer) {
  World world = ring(plan::PeerLink::kMessage);
  for (plan::Plan& plan : world.plans) plan.scratchBlocks = 1000;
  world.bufferBytes = 1000;
  for (plan::Geometry& g : world.geometry) g.capacity *= 2;
  const auto finding = check(world, {});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fault, Fault::kPlace);
}

TEST(Checker, TellsAnotherOrderFromRankOrder) {
  World world = ring(plan::PeerLink::kDirect);
  world.strict = true;
  const auto finding = check(world, {});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->expected, "unreduced inputs combined in the order of ranks");
}

}  // namespace
}  // namespace hccl::verify
