// HCCL_ALGO_TABLE: what a file may say, which row a size gets, and what a wrong file is told.
#include "src/base/algo_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/base/fake_env.h"

namespace hccl {
namespace {

std::string fileOf(const std::string& rows) {
  return R"({"version": 1, "rows": [)" + rows + "]}";
}

// A row with some fields replaced: "name":value,...
std::string rowWith(const std::string& fields) {
  return R"({"op":"allreduce","ranks":4,"links":"shared",)" + fields + "}";
}
const char* const kGood = R"("max_bytes":4096,"algorithm":"ring")";

std::string errorOf(const std::string& content) {
  const auto table = AlgoTable::parse(content, "/some/table.json");
  EXPECT_FALSE(table.isOk()) << content;
  if (table.isOk()) return "";
  EXPECT_EQ(table.status().code(), HCCL_E_PARA);
  EXPECT_EQ(table.status().eiCode(), 1);
  const std::string& text = table.status().text();
  EXPECT_NE(text.find("/some/table.json"), std::string::npos) << text;
  EXPECT_NE(text.find("HCCL_ALGO_TABLE"), std::string::npos) << text;
  return text;
}

TEST(AlgoTable, TheSmallestSufficientRowCounts) {
  const auto table = AlgoTable::parse(
      fileOf(
          rowWith(R"("max_bytes":1048576,"algorithm":"NHR","one_shot":true,"chunk_bytes":65536)") +
          "," + rowWith(kGood) + "," +
          R"({"op":"allreduce","ranks":4,"servers":2,"links":"tcp","max_bytes":10,)"
          R"("level1":"ring","level2":"NHR"})"),
      "t");
  ASSERT_TRUE(table.isOk()) << table.status().text();
  const AlgoTable& t = **table;
  ASSERT_EQ(t.rows().size(), 3U);
  EXPECT_EQ(t.find(AlgoOp::kAllReduce, 4, 1, "shared", 0)->flat, AlgoToken::kRing);
  EXPECT_EQ(t.find(AlgoOp::kAllReduce, 4, 1, "shared", 4096)->flat, AlgoToken::kRing);
  const AlgoTableRow* large = t.find(AlgoOp::kAllReduce, 4, 1, "shared", 4097);
  EXPECT_EQ(large->flat, AlgoToken::kNhr);
  EXPECT_EQ(large->shape, (AlgoShape{true, 65536}));
  EXPECT_EQ(large->number, 1U);  // as it stands in the file
  EXPECT_EQ(t.find(AlgoOp::kAllReduce, 4, 2, "tcp", 10)->level2, AlgoToken::kNhr);
  EXPECT_EQ(t.find(AlgoOp::kAllReduce, 4, 1, "shared", 1048577), nullptr);
  EXPECT_EQ(t.find(AlgoOp::kAllReduce, 4, 2, "tcp", 11), nullptr);
  EXPECT_EQ(t.find(AlgoOp::kAllReduce, 5, 1, "shared", 1), nullptr);
  EXPECT_EQ(t.find(AlgoOp::kReduce, 4, 1, "shared", 1), nullptr);
  EXPECT_EQ(t.find(AlgoOp::kAllReduce, 4, 1, "rdma", 1), nullptr);
}

TEST(AlgoTable, EqualChoicesHaveEqualHashes) {
  const auto hash = [](const std::string& rows) {
    return (*AlgoTable::parse(fileOf(rows), "t"))->hash();
  };
  const std::string other = rowWith(R"("max_bytes":8192,"algorithm":"NB")");
  EXPECT_EQ(hash(rowWith(kGood) + "," + other), hash(other + ", " + rowWith(kGood)));
  EXPECT_EQ(hash(rowWith(kGood)),
            hash(rowWith(std::string(kGood) + R"(,"measured":{"bytes":1,"us":[1,2,3]})")));
  for (const char* fields :
       {R"("max_bytes":4097,"algorithm":"ring")", R"("max_bytes":4096,"algorithm":"NB")",
        R"("max_bytes":4096,"algorithm":"ring","one_shot":false)",
        R"("max_bytes":4096,"algorithm":"ring","chunk_bytes":65536)"}) {
    EXPECT_NE(hash(rowWith(kGood)), hash(rowWith(fields))) << fields;
  }
}

TEST(AlgoTable, AWrongRowIsNamedWithItsFieldAndWhatWasExpected) {
  const struct {
    const char* fields;
    const char* where;
    const char* expected;
  } cases[] = {
      {R"("max_bytes":1,"algorithm":"bogus")", "field \"algorithm\": \"bogus\"",
       "the name of an algorithm"},
      {R"("max_bytes":1,"algorithm":"null")", "field \"algorithm\"", "the name of an algorithm"},
      {R"("max_bytes":1)", "field \"algorithm\"", "either \"algorithm\""},
      {R"("max_bytes":1,"algorithm":"ring","level1":"ring")", "field \"algorithm\"", "either"},
      {R"("max_bytes":1,"algorithm":"ring","level2":"ring")", "field \"level2\"", "a \"level1\""},
      {R"("algorithm":"ring")", "field \"max_bytes\": missing", "an integer from 0"},
      {R"("max_bytes":-1,"algorithm":"ring")", "field \"max_bytes\": -1", "an integer from 0"},
      {R"("max_bytes":1.5,"algorithm":"ring")", "field \"max_bytes\": 1.5", "an integer from 0"},
      {R"("max_bytes":1,"algorithm":"ring","one_shot":1)", "field \"one_shot\"", "true or false"},
      {R"("max_bytes":1,"algorithm":"ring","chunk_bytes":1)", "field \"chunk_bytes\"",
       "an integer from 4096"},
      {R"("max_bytes":1,"algorithm":"ring","servers":0)", "field \"servers\"", "an integer from 1"},
      {R"("max_bytes":1,"algorithm":"ring","color":"red")", "field \"color\"", "no fields but"},
  };
  for (const auto& c : cases) {
    const std::string text = errorOf(fileOf(rowWith(kGood) + "," + rowWith(c.fields)));
    EXPECT_NE(text.find("row 2"), std::string::npos) << text;
    EXPECT_NE(text.find(c.where), std::string::npos) << text;
    EXPECT_NE(text.find(std::string("Expected value: ") + c.expected), std::string::npos) << text;
  }
  const std::string op =
      R"({"op":"allsum","ranks":4,"links":"shared","max_bytes":1,"algorithm":"NB"})";
  EXPECT_NE(errorOf(fileOf(op)).find("field \"op\": \"allsum\""), std::string::npos);
  const std::string links =
      R"({"op":"reduce","ranks":4,"links":"rope","max_bytes":1,"algorithm":"NB"})";
  EXPECT_NE(errorOf(fileOf(links)).find("shared, rdma or tcp"), std::string::npos);
  EXPECT_NE(errorOf(fileOf("7")).find("row 1"), std::string::npos);
  const std::string twice = errorOf(fileOf(rowWith(kGood) + "," + rowWith(kGood)));
  EXPECT_NE(twice.find("row 2, field \"max_bytes\""), std::string::npos) << twice;
  EXPECT_NE(twice.find("a size that row 1 does not have"), std::string::npos) << twice;
}

TEST(AlgoTable, AFileThatIsNoTable) {
  EXPECT_NE(errorOf("{\n\"version\": 1,\n oops").find("line 3"), std::string::npos);
  EXPECT_NE(errorOf("").find("a JSON text"), std::string::npos);
  EXPECT_NE(errorOf("[]").find("a JSON object"), std::string::npos);
  EXPECT_NE(errorOf(R"({"version": 2, "rows": []})").find("field \"version\""), std::string::npos);
  EXPECT_NE(errorOf(R"({"version": 1})").find("field \"rows\""), std::string::npos);
  const auto missing = AlgoTable::load("/nowhere/table.json");
  ASSERT_FALSE(missing.isOk());
  EXPECT_NE(missing.status().text().find("/nowhere/table.json (cannot be read)"),
            std::string::npos);
}

TEST(AlgoTable, TheEnvironmentLoadsIt) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("algo-table-" + std::to_string(::getpid()) + ".json"))
                               .string();
  std::ofstream(path) << fileOf(rowWith(kGood));
  std::vector<EnvLogLine> lines;
  const auto env = test::parse({{"HCCL_ALGO_TABLE", path}}, &lines);
  ASSERT_TRUE(env.isOk()) << env.status().text();
  ASSERT_NE(env->algoTable, nullptr);
  EXPECT_EQ(env->algoTable->rows().size(), 1U);
  EXPECT_TRUE(test::hasLine(lines, "[HCCL_ENV] HCCL_ALGO_TABLE set by environment to [" + path +
                                       "], rows[1], hash[" + env->algoTable->hash() + "]"));
  std::ofstream(path) << "{";
  const auto broken = test::parse({{"HCCL_ALGO_TABLE", path}});
  EXPECT_FALSE(broken.isOk());
  EXPECT_EQ(broken.status().eiCode(), 1);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hccl
