// What hccl_tune makes of its times: medians, tables that the library reads, cells.
#include <gtest/gtest.h>

#include <set>

#include "src/base/algo_table.h"
#include "tools/tune/report.h"

namespace hccl::tune {
namespace {

TEST(Statistics, MedianAndItsInterval) {
  const Median odd = medianOf({5, 1, 4, 2, 3});
  EXPECT_EQ(odd.value, 3);
  EXPECT_EQ(odd.low, 1);  // five values say no more
  EXPECT_EQ(odd.high, 5);
  EXPECT_EQ(medianOf({4, 1, 3, 2}).value, 2.5);
  // Nine values: the second and the eighth hold the median with 96 %.
  const Median nine = medianOf({9, 8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_EQ(nine.low, 2);
  EXPECT_EQ(nine.high, 8);
  // One that is far off changes nothing.
  EXPECT_EQ(medianOf({1, 2, 3, 4, 5, 6, 7, 8, 900}).high, 8);
}

TEST(Statistics, RatiosAreTakenTurnByTurn) {
  // Both were disturbed in the third turn.
  const Median ratio = medianRatio({2, 2, 20, 2, 2, 2}, {1, 1, 10, 1, 1, 1});
  EXPECT_EQ(ratio.value, 2);
  EXPECT_EQ(ratio.low, 2);
  EXPECT_EQ(ratio.high, 2);
}

TEST(Contenders, AskForWhatTheyAreNamed) {
  const plan::Topology topology = plan::Topology::flat(4);
  for (const Operation& op : allOperations()) {
    std::set<std::string> names;
    for (const Contender& contender : contendersOf(op, topology)) {
      EXPECT_TRUE(names.insert(contender.name).second) << contender.name;
      const auto config = parseAlgoConfig(contender.algo);
      ASSERT_TRUE(config.has_value()) << contender.algo;
      plan::OpDesc desc;
      desc.type = op.type;
      for (const uint64_t bytes : {8ULL, 64ULL << 20}) {
        EXPECT_EQ(plan::select(desc, topology, *config, false, bytes).text(), contender.name)
            << op.token << " " << contender.algo;
      }
    }
    EXPECT_TRUE(names.contains("fullmesh")) << op.token;
    EXPECT_GE(names.size(), 4U) << op.token;
  }
}

Contender contenderNamed(const std::vector<Contender>& all, const std::string& name) {
  for (const Contender& contender : all) {
    if (contender.name == name) return contender;
  }
  ADD_FAILURE() << name;
  return all[0];
}

TEST(Table, TheLibraryReadsWhatWasWritten) {
  const plan::Topology topology = plan::Topology::flat(4);
  const Operation op = *findOperation("AllReduce");
  const auto all = contendersOf(op, topology);
  const Contender star = contenderNamed(all, "star");
  const Contender mesh = contenderNamed(all, "fullmesh");
  const nlohmann::json rows = tableRows(
      {op, 4, 1, "shared"},
      {{64, star, {}}, {1024, star, {}}, {16384, mesh, {}}, {1 << 20, withChunk(mesh, 65536), {}}});
  ASSERT_EQ(rows.size(), 3U);  // neighbours that agree are one row
  const auto table = AlgoTable::parse(tableOf(rows).dump(), "t");
  ASSERT_TRUE(table.isOk()) << table.status().text();
  const auto at = [&](uint64_t bytes) {
    return (*table)->find(AlgoOp::kAllReduce, 4, 1, "shared", bytes);
  };
  EXPECT_EQ(at(1)->flat, AlgoToken::kStar);
  EXPECT_EQ(at(4096)->flat, AlgoToken::kStar);  // the middle of 1K and 16K
  EXPECT_EQ(at(4097)->flat, AlgoToken::kFullMesh);
  EXPECT_EQ(at(4097)->shape.chunkBytes, 0U);
  EXPECT_EQ(at(1ULL << 40)->shape.chunkBytes, 65536U);
}

Cell cellWith(Median ratio) {
  Cell cell;
  cell.setting = {*findOperation("AllReduce"), 2, 1, "shared"};
  cell.ratio = ratio;
  return cell;
}

TEST(Cells, AreLostWhenTheIntervalExcludesTenPercent) {
  const std::vector<Cell> cells = {cellWith({1.0, 0.9, 1.05}), cellWith({1.2, 1.05, 1.3}),
                                   cellWith({1.2, 1.15, 1.3}), cellWith({1.09, 1.0, 1.2})};
  EXPECT_FALSE(cells[1].isLost());
  EXPECT_TRUE(cells[2].isLost());
  const std::string text = summary(cells);
  EXPECT_NE(text.find("3 of 4 cells, 75.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("2, 50.0 %"), std::string::npos) << text;
  const Cell again = cellOf(toJson(cells[2]));
  EXPECT_EQ(again.ratio.low, 1.15);
  EXPECT_TRUE(again.isLost());
}

}  // namespace
}  // namespace hccl::tune
