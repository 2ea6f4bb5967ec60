// Two servers with two ranks each, as network namespaces: the hierarchical way by root info and by
// rank table. Results are checked, and the bytes between the servers are compared with the formula
// of the hierarchy. A machine that cannot do this fails, unless HCCL_TEST_NO_NETNS=1 says that it
// need not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "hccl/hccl_rank_graph.h"
#include "tests/integration/servers/network.h"
#include "tests/integration/support/element.h"
#include "tests/integration/support/job.h"
#include "tests/integration/support/rank.h"

namespace hccl::multirank {
namespace {

constexpr uint32_t kPerServer = 2;
constexpr uint32_t kServers = 2;
constexpr uint32_t kRanks = kPerServer * kServers;
// Connections, handshakes, heartbeats, and the first operation's greetings.
constexpr double kConstantBytes = 96e3;
// IP, TCP and link headers, credits, acknowledgements of the other way.
constexpr double kOverhead = 1.10;

std::string rankTable() {
  std::string text = R"({"status":"completed","version":"1.0","server_count":"2","server_list":[)";
  for (uint32_t s = 0; s < kServers; ++s) {
    const std::string ip = TwoServers::kAddress[s];
    text += std::string(s == 0 ? "" : ",") + R"({"server_id":")" + ip + R"(","host_ip":")" + ip +
            R"(","device":[)";
    for (uint32_t d = 0; d < kPerServer; ++d) {
      const std::string rank = std::to_string(s * kPerServer + d);
      text += std::string(d == 0 ? "" : ",") + R"({"device_id":")" + std::to_string(d) +
              R"(","device_port":")" + std::to_string(17200 + d) + R"(","rank_id":")" + rank +
              R"("})";
    }
    text += "]}";
  }
  return text + "]}";
}

// One operation on data that all can compute. n: bytes of the whole vector, or of all blocks
// together.
class Operation {
 public:
  Operation(Rank& rank, const std::string& name, uint64_t n)
      : name_(name), me_(rank.rank()), count_(n / 4), block_(n / 4 / kRanks) {
    HCCL_MUST(aclrtMalloc(&send_, n, ACL_MEM_MALLOC_HUGE_FIRST));
    HCCL_MUST(aclrtMalloc(&recv_, n, ACL_MEM_MALLOC_HUGE_FIRST));
    fillInput(send_, kType, kOp, Values::kExact, me_, 0, count_);
  }
  ~Operation() {
    (void)aclrtFree(send_);
    (void)aclrtFree(recv_);
  }

  void call(HcclComm comm, aclrtStream stream) {
    if (name_ == "AllReduce")
      return HCCL_MUST(HcclAllReduce(send_, recv_, count_, kType, kOp, comm, stream));
    if (name_ == "ReduceScatter") {
      return HCCL_MUST(HcclReduceScatter(send_, recv_, block_, kType, kOp, comm, stream));
    }
    if (name_ == "AllGather")
      return HCCL_MUST(HcclAllGather(send_, recv_, block_, kType, comm, stream));
    if (name_ == "Broadcast")
      return HCCL_MUST(HcclBroadcast(send_, count_, kType, 0, comm, stream));
    HCCL_MUST(HcclAlltoAll(send_, block_, kType, recv_, block_, kType, comm, stream));
  }

  void check() {
    std::vector<float> expected(count_);
    uint64_t count = count_;
    const void* got = recv_;
    if (name_ == "AllReduce") {
      fillReduced(expected.data(), kType, kOp, Values::kExact, {0, 1, 2, 3}, 0, count_);
    } else if (name_ == "ReduceScatter") {
      count = block_;
      fillReduced(expected.data(), kType, kOp, Values::kExact, {0, 1, 2, 3}, me_ * block_, block_);
    } else if (name_ == "Broadcast") {
      fillInput(expected.data(), kType, kOp, Values::kExact, 0, 0, count_);
      got = send_;
    } else {
      for (uint32_t r = 0; r < kRanks; ++r) {
        const uint64_t first = name_ == "AllGather" ? 0 : me_ * block_;
        fillInput(expected.data() + r * block_, kType, kOp, Values::kExact, r, first, block_);
      }
      count = block_ * kRanks;
    }
    expect(std::memcmp(got, expected.data(), count * 4) == 0, name_ + ": wrong result");
  }

 private:
  static constexpr HcclDataType kType = HCCL_DATA_TYPE_FP32;
  static constexpr HcclReduceOp kOp = HCCL_REDUCE_SUM;
  std::string name_;
  uint32_t me_;
  uint64_t count_;
  uint64_t block_;
  void* send_ = nullptr;
  void* recv_ = nullptr;
};

HcclComm openCommunicator(Rank& rank) {
  const std::string table = rank.argument("table");
  if (table.empty()) return openByRootInfo(rank);
  HcclComm comm = nullptr;
  HCCL_MUST(HcclCommInitClusterInfo(table.c_str(), rank.rank(), &comm));
  return comm;
}

void hierarchical(Rank& rank) {
  const auto bytes = std::stoull(rank.argument("bytes"));
  const int times = std::stoi(rank.argument("times"));
  Session session(static_cast<int32_t>(rank.rank() % kPerServer));
  const HcclComm comm = openCommunicator(rank);
  // Both ranks of the own server, and only they, are in this rank's layer 0.
  uint32_t* ranks = nullptr;
  uint32_t count = 0;
  HCCL_MUST(HcclRankGraphGetRanksByLayer(comm, 0, &ranks, &count));
  const uint32_t first = rank.rank() / kPerServer * kPerServer;
  expect(count == kPerServer && ranks[0] == first && ranks[1] == first + 1,
         "layer 0 does not hold the ranks of the server");
  for (int i = 0; i < times; ++i) {
    Operation operation(rank, rank.argument("op"), bytes);
    operation.call(comm, session.stream());
    session.synchronise();
    operation.check();
  }
  HCCL_MUST(HcclCommDestroy(comm));
}

const RegisterBody body("hierarchical", hierarchical);

class Servers : public testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  void SetUp() override {
    if (servers_.problem().empty()) return;
    const char* off = std::getenv("HCCL_TEST_NO_NETNS");
    if (off != nullptr && std::string(off) == "1") GTEST_SKIP() << servers_.problem();
    FAIL() << servers_.problem() << "; HCCL_TEST_NO_NETNS=1 leaves these tests out";
  }

  // Bytes that server 0 sent while a job ran.
  uint64_t run(const std::string& op, bool byTable, uint64_t bytes, int times) {
    JobSpec spec;
    spec.body = "hierarchical";
    spec.ranks = kRanks;
    spec.launch = Launch::kProcesses;
    spec.environment["HCCL_HOST_DEVICES"] = std::to_string(kPerServer);
    spec.arguments = {"op=" + op, "bytes=" + std::to_string(bytes),
                      "times=" + std::to_string(times)};
    const std::filesystem::path table = std::filesystem::temp_directory_path() /
                                        ("hccl-servers-" + std::to_string(::getpid()) + ".json");
    if (byTable) {
      std::ofstream(table) << rankTable();
      spec.arguments.push_back("table=" + table.string());
    }
    spec.prepare = [this](uint32_t rank) {
      if (!servers_.enter(static_cast<int>(rank / kPerServer))) ::_exit(126);
    };
    const uint64_t before = servers_.bytesSent(0);
    const JobResult result = runJob(spec);
    const uint64_t after = servers_.bytesSent(0);
    std::filesystem::remove(table);
    EXPECT_TRUE(result.ok()) << result.text();
    return after - before;
  }

  TwoServers servers_;
};

// What server 0 sends for an operation of n bytes with the order of levels that HCCL has. m ranks
// in each of G servers; rank i of a server talks to rank i of the other.
double formula(const std::string& op, double n) {
  constexpr double g = kServers;
  constexpr double m = kPerServer;
  // Reduce-scatter and all-gather between servers, of the m-th that a rank has after its server's
  // part.
  if (op == "AllReduce") return m * (2 * (g - 1) / g * n / m);
  // Between the servers first, so of all that a rank has.
  if (op == "ReduceScatter") return m * (g - 1) / g * n;
  // Between the servers last, so every rank passes on what its server has.
  if (op == "AllGather") return m * (g - 1) * n / g;
  if (op == "Broadcast") return n;                // each of the root's server passes on an m-th
  return m * (kRanks - kPerServer) * n / kRanks;  // AlltoAll: nothing can be saved
}

TEST_P(Servers, ResultsAreRightAndNoByteTooManyIsSent) {
  const auto& [op, byTable] = GetParam();
  constexpr uint64_t kBytes = 6 << 20;
  constexpr int kTimes = 2;
  const auto sent = static_cast<double>(run(op, byTable, kBytes, kTimes));
  const double least = formula(op, kBytes) * kTimes;
  RecordProperty("sent", std::to_string(sent));
  std::cout << op << (byTable ? " by rank table" : " by root info") << ": sent " << sent / 1e6
            << " MB, formula " << least / 1e6 << " MB" << std::endl;
  EXPECT_LE(sent, least * kOverhead + kConstantBytes);
  EXPECT_GE(sent, least) << "the data took another way than the one measured";
}

INSTANTIATE_TEST_SUITE_P(Operations, Servers,
                         testing::Combine(testing::Values("AllReduce", "ReduceScatter", "AllGather",
                                                          "Broadcast", "AllToAll"),
                                          testing::Bool()),
                         [](const auto& way) {
                           return std::get<0>(way.param) +
                                  (std::get<1>(way.param) ? "_rank_table" : "_root_info");
                         });

}  // namespace
}  // namespace hccl::multirank
