// The property sweep: proves plans by the thousand. HCCL_TEST_FULL=1 proves more of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <unordered_set>

#include "src/verify/check.h"
#include "tests/verify/cases.h"

namespace hccl::test {
namespace {

constexpr size_t kFullPlans = 200000;

bool full() {
  const char* value = getenv("HCCL_TEST_FULL");
  return value != nullptr && *value == '1';
}

// What has been proven so far.
class Tally {
 public:
  void add(const verify::World& world, size_t placements) {
    ++worlds_;
    checks_ += placements;
    for (const plan::Plan& plan : world.plans) {
      // The same steps in another world wait for other peers: the world is part of a plan.
      plans_.insert(verify::digestOf(plan) ^ uint64_t{world.ranks} * 0x9e3779b97f4a7c15ULL ^
                    static_cast<uint64_t>(world.op.type) << 56);
    }
  }
  void addPair() { ++pairs_; }
  void print(const char* name) const {
    printf("%s: %zu distinct lowered plans proven, in %zu worlds, %zu checks, %zu pairs\n", name,
           plans_.size(), worlds_, checks_, pairs_);
    fflush(stdout);
  }
  size_t plans() const { return plans_.size(); }

 private:
  std::unordered_set<uint64_t> plans_;
  size_t worlds_ = 0;
  size_t checks_ = 0;
  size_t pairs_ = 0;
};

Tally& total() {
  static Tally tally;
  return tally;
}

uint32_t rootOf(uint32_t ranks, HcclCMDType type, uint32_t turn) {
  if (!plan::isRooted(type)) return 0;
  const uint32_t roots[] = {0, ranks - 1, ranks / 2, 1 % ranks, (ranks + 2) / 3 % ranks};
  return roots[turn % 5];
}

Case caseOf(HcclCMDType type, const plan::Topology& topology, const plan::Choice& choice, Mix mix,
            uint32_t turn) {
  Case c;
  c.mix = mix;
  c.spec.op.type = type;
  c.spec.op.root = rootOf(topology.rankCount, type, turn / 2);
  c.spec.topology = topology;
  c.spec.choice = choice;
  c.spec.link = linksOf(topology, mix);
  setGrid(c.spec, turn);
  if (type == HCCL_CMD_BARRIER) c.spec.op.count = 1;
  c.spec.strict = plan::isReduction(type) && choice.level1 == nullptr && choice.level2 == nullptr &&
                  choice.level0->algorithm->keepsOrder(plan::stageOpOf(type));
  return c;
}

// Proves one number of ranks: `mixes` mixes of links and `turns` counts and roots for each choice;
// of `share` operations one.
void sweep(uint32_t ranks, const std::vector<plan::Topology>& topologies, uint32_t mixes,
           uint32_t turns, uint32_t share) {
  uint32_t turn = ranks;
  for (const plan::Topology& topology : topologies) {
    for (size_t i = 0; i < collectiveOps().size(); ++i) {
      if ((i + ranks) % share != 0) continue;
      const HcclCMDType type = collectiveOps()[i];
      for (const plan::Choice& choice : choicesOf(type, topology)) {
        for (uint32_t m = 0; m < mixes * turns; ++m) {
          ++turn;
          const auto mix = static_cast<Mix>(mixes == 3 ? m % 3 : turn % 3);
          const Case c = caseOf(type, topology, choice, mix, turn);
          const verify::World world = verify::buildWorld(c.spec);
          ASSERT_EQ(verify::checkAll(world), "") << c.text();
          total().add(world, verify::placementsOf(world).size());
        }
      }
    }
  }
}

TEST(Sweep, SmallNumbersOfRanksInDetail) {
  for (uint32_t ranks = 1; ranks <= 8; ++ranks) {
    sweep(ranks, topologiesOf(ranks, true), 3, full() ? 8 : 1, 1);
  }
  total().print("up to 8 ranks");
}

TEST(Sweep, EveryNumberOfRanks) {
  for (uint32_t ranks = 9; ranks <= 64; ++ranks) {
    // Each number of ranks takes a part of the operations; the next ones take the others.
    sweep(ranks, {plan::Topology::flat(ranks)}, 1, 1, ranks <= 24 ? 4 : 12);
    if (ranks <= 24) sweep(ranks, topologiesOf(ranks, false), 1, 1, 12);
  }
  total().print("up to 64 ranks");
  EXPECT_GE(total().plans(), 20000U);
}

// All operations, mixes of links and layouts of servers, for one number of ranks after the other.
TEST(Sweep, MoreRanksInDetail) {
  if (!full()) GTEST_SKIP() << "HCCL_TEST_FULL=1 proves them";
  uint32_t ranks = 9;
  for (; ranks <= 24 && total().plans() < kFullPlans; ++ranks) {
    sweep(ranks, topologiesOf(ranks, true), 3, 1, 1);
    total().print(("in detail, " + std::to_string(ranks) + " ranks").c_str());
  }
  EXPECT_GE(total().plans(), kFullPlans);
}

// Back to back: every operation and algorithm after another one.
TEST(Sweep, PairsOfOperations) {
  for (uint32_t ranks : {2U, 3U, 4U}) {
    for (const plan::Topology& topology : topologiesOf(ranks, false)) {
      for (Mix mix : {Mix::kDirect, Mix::kMessage, Mix::kMixed}) {
        std::vector<std::pair<Case, verify::World>> all;
        uint32_t turn = ranks;
        for (HcclCMDType type : collectiveOps()) {
          for (const plan::Choice& choice : choicesOf(type, topology)) {
            const Case c = caseOf(type, topology, choice, mix, ++turn);
            all.emplace_back(c, verify::buildWorld(c.spec));
          }
        }
        const size_t stride = full() ? 1 : 11;
        for (size_t i = 0; i < all.size(); ++i) {
          for (size_t j = i % stride; j < all.size(); j += stride) {
            const auto windows = static_cast<verify::Windows>((i + j) % 3);
            const auto overlap = static_cast<verify::Overlap>((i + j) / 3 % 2);
            const auto finding =
                verify::checkSequence({&all[i].second, &all[j].second}, {overlap, windows});
            ASSERT_FALSE(finding) << all[i].first.text() << ", then " << all[j].first.text() << ": "
                                  << finding->text(all[j].second.plans[finding->rank]);
            total().addPair();
          }
        }
      }
    }
  }
  total().print("pairs");
}

// Sizes that are no power of two, no product of small numbers, or next to a power.
TEST(Sweep, LargeOddNumbersOfRanks) {
  const std::vector<uint32_t> sizes =
      full() ? std::vector<uint32_t>{65, 96, 100, 127, 129, 192, 255, 257, 300}
             : std::vector<uint32_t>{67};
  uint32_t turn = 0;
  for (uint32_t ranks : sizes) {
    const plan::Topology topology = plan::Topology::flat(ranks);
    for (HcclCMDType type : {HCCL_CMD_ALLREDUCE, HCCL_CMD_BROADCAST, HCCL_CMD_REDUCE_SCATTER}) {
      for (const plan::Choice& choice : choicesOf(type, topology)) {
        ++turn;
        const Case c = caseOf(type, topology, choice, static_cast<Mix>(turn % 3), turn);
        const verify::World world = verify::buildWorld(c.spec);
        ASSERT_EQ(verify::checkAll(world), "") << c.text();
        total().add(world, verify::placementsOf(world).size());
      }
    }
  }
  total().print("all");
}

}  // namespace
}  // namespace hccl::test
