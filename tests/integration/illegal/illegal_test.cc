// Illegal calls through the doors: return code and EI text, and a communicator that works
// afterwards.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>

#include "tests/integration/illegal/rows.h"
#include "tests/integration/support/job.h"

namespace hccl::multirank {
namespace {

std::string missing(const Row& row, const std::string& text) {
  for (const std::string& part : row.texts) {
    if (text.find(part) == std::string::npos) return part;
  }
  return "";
}

void runRows(Rank& rank, World& world, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    rank.note(row.name);
    (void)takeErrorText();
    const HcclResult result = row.call(world);
    const std::string text = takeErrorText();
    const std::string part = missing(row, text);
    if (result != row.expected) {
      rank.fail(std::string(row.name) + ": " + std::to_string(result) + " instead of " +
                std::to_string(row.expected) + ", text: " + text);
    } else if (!part.empty()) {
      rank.fail(std::string(row.name) + ": no \"" + part + "\" in: " + text);
    }
  }
}

void allReduceWorks(World& w, Session& session) {
  std::vector<int32_t> ones(100, 1);
  std::memcpy(w.a, ones.data(), 400);
  HCCL_MUST(HcclAllReduce(w.a, w.b, 100, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, w.comm, w.stream));
  session.synchronise();
  for (int i = 0; i < 100; ++i) {
    expect(reinterpret_cast<int32_t*>(w.b)[i] == static_cast<int32_t>(w.ranks),
           "wrong sum after illegal calls");
  }
}

void illegal(Rank& rank) {
  Session session(static_cast<int32_t>(rank.rank()));
  World w;
  w.rank = rank.rank();
  w.ranks = rank.ranks();
  w.stream = session.stream();
  w.folder = rank.argument("folder");
  w.none.assign(w.ranks, 0);
  w.ones.assign(w.ranks, 1);
  for (uint32_t r = 0; r < w.ranks; ++r) w.displs.push_back(r);
  HCCL_MUST(aclrtMalloc(reinterpret_cast<void**>(&w.a), World::kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  HCCL_MUST(aclrtMalloc(reinterpret_cast<void**>(&w.b), World::kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  w.comm = openByRootInfo(rank);
  w.dead = openByRootInfo(rank);
  HCCL_MUST(HcclCommDestroy(w.dead));

  runRows(rank, w, managementRows());
  if (w.rank == 0) runRows(rank, w, worldRows());
  allReduceWorks(w, session);
  std::vector<Row> rows = collectiveRows();
  const Row last = std::move(rows.back());  // suspends the communicator
  rows.pop_back();
  runRows(rank, w, rows);
  session.synchronise();
  allReduceWorks(w, session);
  rank.meet();
  runRows(rank, w, {last});
  HCCL_MUST(HcclCommDestroy(w.comm));
}

void badEnvironment(Rank& rank) {
  HCCL_MUST(aclrtSetDevice(0));
  HcclRootInfo root;
  const HcclResult result = HcclGetRootInfo(&root);
  const std::string text = takeErrorText();
  expect(result == HCCL_E_PARA, "HcclGetRootInfo returned " + std::to_string(result));
  for (const std::string& part :
       {std::string("EI0001"), rank.argument("name"), rank.argument("value")}) {
    expect(text.find(part) != std::string::npos, "no \"" + part + "\" in: " + text);
  }
}

void errorStrings(Rank&) {
  const char* const texts[] = {"no error",
                               "parameter error",
                               "empty pointer",
                               "memory error",
                               "internal error",
                               "not support feature",
                               "not found specific resource",
                               "resource unavailable",
                               "call system interface error",
                               "timeout",
                               "open file fail",
                               "tcp connect fail",
                               "roce connect fail",
                               "tcp transfer fail",
                               "roce transfer fail",
                               "call runtime api fail",
                               "call driver api fail",
                               "call profiling api fail",
                               "call cce api fail",
                               "call network api fail",
                               "try again",
                               "error cqe",
                               "error communicator suspending",
                               "retry constraint",
                               "out of memory"};
  for (int code = 0; code < 25; ++code) {
    const std::string got = HcclGetErrorString(static_cast<HcclResult>(code));
    expect(got == texts[code], std::to_string(code) + ": " + got);
  }
  expect(std::string(HcclGetErrorString(static_cast<HcclResult>(1041))) == "unknown err", "1041");
  expect(std::string(HcclGetErrorString(HCCL_E_RESERVED)) == "unknown error", "reserved");
  // The largest number that the enumeration's bits hold; a negative one is undefined to begin with.
  expect(std::string(HcclGetErrorString(static_cast<HcclResult>(2047))) == "unknown error", "2047");
  expect(HcclGetCommConfigCapability() == 12, "capability");
}

const RegisterBody bodies[] = {
    {"illegal", illegal}, {"environment", badEnvironment}, {"strings", errorStrings}};

TEST(Illegal, CallsAreRefusedWithTheRightText) {
  char name[] = "/tmp/hccl-illegal-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  for (const Launch launch : {Launch::kThreads, Launch::kProcesses}) {
    for (const uint32_t ranks : {2U, 4U}) {
      JobSpec spec;
      spec.body = "illegal";
      spec.ranks = ranks;
      spec.launch = launch;
      spec.arguments = {std::string("folder=") + name};
      const JobResult result = runJob(spec);
      EXPECT_TRUE(result.ok()) << ranks << " " << nameOf(launch) << "\n" << result.text();
    }
  }
  std::filesystem::remove_all(name);
}

TEST(Illegal, EnvironmentIsRefusedAtTheFirstCall) {
  const std::pair<const char*, const char*> wrong[] = {
      {"HCCL_RDMA_TC", "5"}, {"HCCL_BUFFSIZE", "0"},        {"HCCL_CONNECT_TIMEOUT", "7201"},
      {"HCCL_ALGO", "ring"}, {"HCCL_SOCKET_FAMILY", "IPX"}, {"HCCL_TRANSPORT", "pigeon"}};
  for (const auto& [name, value] : wrong) {
    JobSpec spec;
    spec.body = "environment";
    spec.environment[name] = value;
    spec.arguments = {std::string("name=") + name, std::string("value=") + value};
    const JobResult result = runJob(spec);
    EXPECT_TRUE(result.ok()) << name << "\n" << result.text();
  }
}

TEST(Illegal, ErrorStringsAreHccls) {
  JobSpec spec;
  spec.body = "strings";
  const JobResult result = runJob(spec);
  EXPECT_TRUE(result.ok()) << result.text();
}

}  // namespace
}  // namespace hccl::multirank
