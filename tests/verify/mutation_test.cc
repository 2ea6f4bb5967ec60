// Mutation test of the checker: each plan is made wrong in one place, and the checker must notice,
// or the mutant must be equivalent for a reason that can be shown.
#include <gtest/gtest.h>

#include <map>

#include "src/verify/check.h"
#include "tests/verify/cases.h"
#include "tests/verify/mutants.h"

namespace hccl::test {
namespace {

struct Score {
  uint32_t tried = 0;
  uint32_t killed = 0;
  uint32_t equivalent = 0;
};

class Mutants : public testing::Test {
 protected:
  void tryAll(const verify::World& world, const std::string& name) {
    name_ = name;
    // A rank that is no root, and one that may be.
    for (uint32_t rank : {0U, world.ranks - 1}) {
      for (const Mutation& m : mutationsOf(world, rank)) tryOne(world, m);
    }
  }

  void tryOne(const verify::World& world, const Mutation& m) {
    Score& score = scores_[changeName(m.change)];
    ++score.tried;
    const verify::World mutant = mutate(world, m);
    if (!verify::checkAll(mutant).empty()) {
      ++score.killed;
      return;
    }
    const std::string reason = equivalence(world, mutant, m);
    if (reason.empty()) {
      ADD_FAILURE() << "survived without a reason: " << m.text(world) << " of " << name_;
      return;
    }
    ++score.equivalent;
    ++reasons_[std::string(changeName(m.change)) + ": " + reason];
  }

  void TearDown() override {
    Score all;
    for (const auto& [name, score] : scores_) {
      printf("%-16s tried %6u killed %6u equivalent %6u\n", name.c_str(), score.tried, score.killed,
             score.equivalent);
      all.tried += score.tried;
      all.killed += score.killed;
      all.equivalent += score.equivalent;
    }
    for (const auto& [reason, count] : reasons_) printf("%6u %s\n", count, reason.c_str());
    printf("mutants: %u tried, %u killed, %u equivalent\n", all.tried, all.killed, all.equivalent);
  }

  std::string name_;
  std::map<std::string, Score> scores_;
  std::map<std::string, uint32_t> reasons_;
};

TEST_F(Mutants, AreKilledOrEquivalent) {
  uint32_t turn = 0;
  for (uint32_t ranks : {3U, 4U}) {
    for (const plan::Topology& topology : topologiesOf(ranks, false)) {
      for (HcclCMDType type : collectiveOps()) {
        if (type == HCCL_CMD_BARRIER || type == HCCL_CMD_ALLTOALLVC) continue;
        for (const plan::Choice& choice : choicesOf(type, topology)) {
          for (Mix mix : {Mix::kDirect, Mix::kMessage, Mix::kMixed}) {
            if (ranks == 4 && static_cast<Mix>(++turn % 3) != mix) continue;
            verify::WorldSpec spec;
            spec.op.type = type;
            spec.op.root = plan::isRooted(type) ? ranks - 1 : 0;
            spec.topology = topology;
            spec.choice = choice;
            spec.link = linksOf(topology, mix);
            setGrid(spec, 0);  // several iterations, a short last one
            const verify::World world = verify::buildWorld(spec);
            ASSERT_EQ(verify::checkAll(world), "");
            tryAll(world, Case{spec, mix}.text());
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hccl::test
