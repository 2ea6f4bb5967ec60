// HCCL_ALGO_TABLE on real communicators: what the table says is what runs, a row that is not legal
// is left out, and ranks that loaded different tables are told so.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/integration/support/job.h"
#include "tests/integration/support/rank.h"

namespace hccl::multirank {
namespace {

std::string row(const std::string& op, const std::string& links, const std::string& what) {
  return R"({"op":")" + op + R"(","ranks":3,"links":")" + links + R"(","max_bytes":65536,)" + what +
         "}";
}

class TableFile {
 public:
  TableFile(const std::string& name, const std::string& rows)
      : path_((std::filesystem::temp_directory_path() /
               ("hccl-" + name + "-" + std::to_string(::getpid()) + ".json"))
                  .string()) {
    std::ofstream(path_) << R"({"version":1,"rows":[)" << rows << "]}";
  }
  ~TableFile() { std::filesystem::remove(path_); }
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// How many lines of this process' log hold all of the texts.
size_t logLines(const std::vector<std::string>& texts) {
  const char* folder = std::getenv("ASCEND_PROCESS_LOG_PATH");
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() ||
        entry.path().string().find(std::to_string(::getpid())) == std::string::npos) {
      continue;
    }
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      bool all = true;
      for (const std::string& text : texts) all = all && line.find(text) != std::string::npos;
      count += all ? 1 : 0;
    }
  }
  return count;
}

void allReduce(Rank& rank, HcclComm comm, Session& session, size_t count) {
  std::vector<float> in(count, static_cast<float>(rank.rank() + 1)), out(count);
  HCCL_MUST(HcclAllReduce(in.data(), out.data(), count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                          session.stream()));
  session.synchronise();
  const auto sum = static_cast<float>(rank.ranks() * (rank.ranks() + 1) / 2);
  for (const float value : out) expect(value == sum, "a wrong sum");
}

const RegisterBody tableBody("table", [](Rank& rank) {
  Session session(static_cast<int32_t>(rank.rank()));
  const HcclComm comm = openByRootInfo(rank);
  for (int call = 0; call < 3; ++call) allReduce(rank, comm, session, 1000);
  std::vector<float> data(1000, rank.rank() == 1 ? 7.0F : 0.0F);
  HCCL_MUST(
      HcclBroadcast(data.data(), data.size(), HCCL_DATA_TYPE_FP32, 1, comm, session.stream()));
  session.synchronise();
  for (const float value : data) expect(value == 7.0F, "a wrong broadcast");
  // Of a process: several ranks may live in it.
  expect(logLines({"tag[AllReduce_", "AlgType(level 0-1-2):[NB-null-null], oneShot[1]"}) > 0,
         "the table's AllReduce did not run");
  expect(logLines({"newTag[AllReduce_", "level0:NB,level1:null,level2:null", "level0Size[3]",
                   "moduleNum_[1]", "chosen by[row 1 of "}) > 0,
         "the long line of the AllReduce is missing");
  const size_t ranksHere = rank.argument("launch") == "threads" ? rank.ranks() : 1;
  rank.meet();
  expect(logLines({"row 2 of ", "is skipped for Broadcast"}) == ranksHere,
         "the illegal row is not told once");
  rank.meet();
  HCCL_MUST(HcclCommDestroy(comm));
});

TEST(Tables, TheirChoiceRuns) {
  for (const char* transport : {"shm", "tcp"}) {
    const std::string links = std::strcmp(transport, "shm") == 0 ? "shared" : "tcp";
    const TableFile table("table", row("allreduce", links, R"("algorithm":"NB","one_shot":true)") +
                                       "," + row("broadcast", links, R"("algorithm":"ring")"));
    for (const Launch launch : {Launch::kThreads, Launch::kProcesses}) {
      JobSpec spec;
      spec.body = "table";
      spec.ranks = 3;
      spec.launch = launch;
      spec.environment["HCCL_TRANSPORT"] = transport;
      spec.environment["HCCL_ALGO_TABLE"] = table.path();
      spec.environment["HCCL_DEBUG_CONFIG"] = "ALG";
      spec.arguments = {std::string("launch=") + nameOf(launch)};
      const JobResult result = runJob(spec);
      EXPECT_TRUE(result.ok()) << transport << " " << nameOf(launch) << ": " << result.text();
    }
  }
}

const RegisterBody differBody("differ", [](Rank& rank) {
  if (rank.rank() == 1) {
    ::setenv("HCCL_ALGO_TABLE", rank.argument("table").c_str(), 1);
  } else if (!rank.argument("other").empty()) {
    ::setenv("HCCL_ALGO_TABLE", rank.argument("other").c_str(), 1);
  }
  HCCL_MUST(aclInit(nullptr));
  HCCL_MUST(aclrtSetDevice(static_cast<int32_t>(rank.rank())));
  HcclRootInfo info;
  std::memset(&info, 0, sizeof(info));
  if (rank.rank() == 0) HCCL_MUST(HcclGetRootInfo(&info));
  const auto all = rank.allGather(std::string(info.internal, sizeof(info.internal)));
  std::memcpy(info.internal, all[0].data(), sizeof(info.internal));
  HcclComm comm = nullptr;
  const HcclResult result = HcclCommInitRootInfo(rank.ranks(), &info, rank.rank(), &comm);
  const std::string text = takeErrorText();
  expect(result == HCCL_E_PARA, "HcclCommInitRootInfo returned " + std::to_string(result));
  for (const char* part : {"EI0005", "algoTable", "(rank 0)", "(rank 1)"}) {
    expect(text.find(part) != std::string::npos, std::string(part) + " is missing in: " + text);
  }
  rank.meet();
});

TEST(Tables, RanksWithDifferentTablesAreToldWhoDiffers) {
  const TableFile one("one", row("allreduce", "shared", R"("algorithm":"NB")"));
  const TableFile two("two", row("allreduce", "shared", R"("algorithm":"NHR")"));
  for (const std::string& other : {std::string(), two.path()}) {
    JobSpec spec;
    spec.body = "differ";
    spec.ranks = 2;
    spec.launch = Launch::kProcesses;
    spec.arguments = {"table=" + one.path(), "other=" + other};
    const JobResult result = runJob(spec);
    EXPECT_TRUE(result.ok()) << other << ": " << result.text();
  }
}

const RegisterBody brokenBody("broken", [](Rank& rank) {
  HcclRootInfo info;
  expect(HcclGetRootInfo(&info) == HCCL_E_PARA, "a broken table was accepted");
  const std::string text = takeErrorText();
  for (const std::string& part :
       {std::string("EI0001"), rank.argument("table"), std::string("row 1, field \"algorithm\""),
        std::string("the name of an algorithm")}) {
    expect(text.find(part) != std::string::npos, part + " is missing in: " + text);
  }
});

TEST(Tables, ABrokenFileIsEi0001) {
  const TableFile table("broken", row("allreduce", "shared", R"("algorithm":"rong")"));
  JobSpec spec;
  spec.body = "broken";
  spec.environment["HCCL_ALGO_TABLE"] = table.path();
  spec.arguments = {"table=" + table.path()};
  const JobResult result = runJob(spec);
  EXPECT_TRUE(result.ok()) << result.text();
}

}  // namespace
}  // namespace hccl::multirank
