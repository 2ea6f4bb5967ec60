// The file around a table: paths, permissions, waiting for "completed".
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "src/base/clock.h"
#include "src/bootstrap/rank_table.h"

namespace hccl {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTable = R"({"status":"STATUS","version":"1.0","server_list":[
  {"server_id":"s","device":[{"device_id":"0","rank_id":"0"}]}]})";

std::string table(const std::string& status) {
  std::string text = kTable;
  return text.replace(text.find("STATUS"), 6, status);
}

class RankTableFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/ranktableXXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Replaced at once, so that a reader never sees half a file.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name) + ".new") << text;
    std::filesystem::rename(path(name) + ".new", path(name));
    return path(name);
  }

  std::string folder_;
};

void expectFileError(const Status& status, HcclResult code) {
  EXPECT_EQ(status.code(), code) << status.text();
  EXPECT_EQ(status.eiCode(), 4);
  EXPECT_THAT(status.text(),
              HasSubstr("The rankTable file path does not exist, the permission is insufficient, "
                        "or the JSON format is incorrect."));
}

TEST_F(RankTableFile, Loads) {
  auto loaded = loadRankTable(write("t.json", table("completed")), 0);
  ASSERT_TRUE(loaded.isOk()) << loaded.status().text();
  EXPECT_EQ(loaded->cluster.ranks[0].serverId, "s");
}

TEST_F(RankTableFile, PathRules) {
  expectFileError(loadRankTable("", 0).status(), HCCL_E_PARA);
  expectFileError(loadRankTable(std::string(4097, 'a') + ".json", 0).status(), HCCL_E_PARA);
  expectFileError(loadRankTable(write("t.txt", table("completed")), 0).status(), HCCL_E_INTERNAL);
  expectFileError(loadRankTable(path("none.json"), 0).status(), HCCL_E_PARA);
}

TEST_F(RankTableFile, OnlyRegularFiles) {
  std::filesystem::create_directory(path("dir.json"));
  expectFileError(loadRankTable(path("dir.json"), 0).status(), HCCL_E_INTERNAL);
  ASSERT_EQ(::mkfifo(path("fifo.json").c_str(), 0600), 0);
  expectFileError(loadRankTable(path("fifo.json"), 0).status(), HCCL_E_INTERNAL);
  expectFileError(loadRankTable(write("bad.json", "{"), 0).status(), HCCL_E_INTERNAL);
}

TEST_F(RankTableFile, FollowsLinks) {
  write("real.json", table("completed"));
  std::filesystem::create_symlink(path("real.json"), path("link.json"));
  EXPECT_TRUE(loadRankTable(path("link.json"), 0).isOk());
}

TEST_F(RankTableFile, WaitsUntilCompleted) {
  const std::string file = write("t.json", table("initializing"));
  RankTableOptions options;
  options.pollSeconds = 0.01;
  options.limitSeconds = 20;
  Result<RankTable> loaded = Status(HCCL_E_INTERNAL, "not run");
  std::thread reader([&] { loaded = loadRankTable(file, 0, options); });
  write("t.json", table("completed"));
  reader.join();
  ASSERT_TRUE(loaded.isOk()) << loaded.status().text();
  EXPECT_EQ(loaded->cluster.size(), 1u);
}

TEST_F(RankTableFile, GivesUpAtTheLimit) {
  RankTableOptions options;
  options.pollSeconds = 0.01;
  options.limitSeconds = 0.1;
  const Status status = loadRankTable(write("t.json", table("initializing")), 0, options).status();
  EXPECT_EQ(status.code(), HCCL_E_TIMEOUT);
  EXPECT_THAT(status.text(), HasSubstr("timeout"));
}

TEST_F(RankTableFile, CanBeCancelled) {
  std::stop_source source;
  RankTableOptions options;
  options.pollSeconds = 600;
  options.cancel = source.get_token();
  Status status;
  const uint64_t begin = monotonicNs();
  std::thread reader([&, file = write("t.json", table("initializing"))] {
    status = loadRankTable(file, 0, options).status();
  });
  source.request_stop();
  reader.join();
  EXPECT_EQ(status.code(), HCCL_E_UNAVAIL);
  EXPECT_LT(monotonicNs() - begin, 10'000'000'000u);
}

}  // namespace
}  // namespace hccl
