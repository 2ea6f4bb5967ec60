// Servers of equal and unequal sizes and super-pods, as rank tables name them, on one host: the
// algorithms that need more than one level, on real channels.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <vector>

#include "tests/integration/support/element.h"
#include "tests/integration/support/job.h"
#include "tests/integration/support/rank.h"

namespace hccl::multirank {
namespace {

constexpr HcclDataType kType = HCCL_DATA_TYPE_FP32;
constexpr HcclReduceOp kOp = HCCL_REDUCE_SUM;

struct Layout {
  std::vector<uint32_t> servers;    // ranks of each
  std::vector<uint32_t> superPods;  // servers of each; none
  uint32_t ranks() const { return std::accumulate(servers.begin(), servers.end(), 0U); }
};

std::string rankTable(const Layout& layout) {
  // Programs that run at the same time do not meet.
  const uint32_t base = 17300 + static_cast<uint32_t>(::getpid()) % 1500 * 8;
  std::ostringstream text;
  text << R"({"status":"completed","version":")" << (layout.superPods.empty() ? "1.0" : "1.2")
       << R"(","server_count":")" << layout.servers.size() << R"(","server_list":[)";
  uint32_t rank = 0;
  for (size_t s = 0; s < layout.servers.size(); ++s) {
    text << (s == 0 ? "" : ",") << R"({"server_id":"server)" << s
         << R"(","host_ip":"127.0.0.1","device":[)";
    for (uint32_t d = 0; d < layout.servers[s]; ++d, ++rank) {
      text << (d == 0 ? "" : ",") << R"({"device_id":")" << rank << R"(","super_device_id":")"
           << rank << R"(","device_port":")" << base + rank << R"(","rank_id":")" << rank
           << R"("})";
    }
    text << "]}";
  }
  text << "]";
  size_t server = 0;
  for (size_t pod = 0; pod < layout.superPods.size(); ++pod) {
    text << (pod == 0 ? R"(,"super_pod_list":[)" : ",") << R"({"super_pod_id":")" << pod
         << R"(","server_list":[)";
    for (uint32_t i = 0; i < layout.superPods[pod]; ++i) {
      text << (i == 0 ? "" : ",") << R"({"server_id":"server)" << server++ << R"("})";
    }
    text << "]}";
  }
  text << (layout.superPods.empty() ? "}" : "]}");
  return text.str();
}

// AllReduce, ReduceScatter, AllGather and Broadcast of `block` elements a rank.
void operations(Rank& rank, HcclComm comm, Session& session, uint64_t block) {
  const uint32_t ranks = rank.ranks();
  const uint64_t all = block * ranks;
  std::vector<uint64_t> keys(ranks);
  std::iota(keys.begin(), keys.end(), 0);
  std::vector<float> in(all), out(all), expected(all), reduced(all);
  fillInput(in.data(), kType, kOp, Values::kExact, rank.rank(), 0, all);
  fillReduced(reduced.data(), kType, kOp, Values::kExact, keys, 0, all);
  const auto check = [&](const float* got, const float* wanted, uint64_t count, const char* name) {
    session.synchronise();
    expect(std::memcmp(got, wanted, count * sizeof(float)) == 0,
           std::string(name) + ": wrong result");
  };
  HCCL_MUST(HcclAllReduce(in.data(), out.data(), all, kType, kOp, comm, session.stream()));
  check(out.data(), reduced.data(), all, "AllReduce");
  HCCL_MUST(HcclReduceScatter(in.data(), out.data(), block, kType, kOp, comm, session.stream()));
  check(out.data(), reduced.data() + rank.rank() * block, block, "ReduceScatter");
  HCCL_MUST(HcclAllGather(in.data(), out.data(), block, kType, comm, session.stream()));
  for (uint32_t r = 0; r < ranks; ++r) {
    fillInput(expected.data() + r * block, kType, kOp, Values::kExact, r, 0, block);
  }
  check(out.data(), expected.data(), all, "AllGather");
  const uint32_t root = ranks - 1;
  if (rank.rank() == root) out = in;
  fillInput(expected.data(), kType, kOp, Values::kExact, root, 0, all);
  HCCL_MUST(HcclBroadcast(out.data(), all, kType, root, comm, session.stream()));
  check(out.data(), expected.data(), all, "Broadcast");
}

// The log of this process names the algorithm that ran.
bool logNames(const std::string& algorithm) {
  const char* folder = std::getenv("ASCEND_PROCESS_LOG_PATH");
  if (folder == nullptr) return false;
  const std::string pid = std::to_string(::getpid());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().string().find(pid) == std::string::npos) continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (line.find("tag[AllReduce_") != std::string::npos &&
          line.find("AlgType(level 0-1-2):[" + algorithm + "]") != std::string::npos) {
        return true;
      }
    }
  }
  return false;
}

// algorithms: "HCCL_ALGO>name of what runs an AllReduce" and more, with + between.
const RegisterBody body("levels", [](Rank& rank) {
  Session session(static_cast<int32_t>(rank.rank()));
  std::istringstream algorithms(rank.argument("algorithms"));
  for (std::string item; std::getline(algorithms, item, '+');) {
    rank.note(item);
    const std::string algo = item.substr(0, item.find('>'));
    HcclCommConfig config = makeConfig();
    std::snprintf(config.hcclAlgo, sizeof(config.hcclAlgo), "%s", algo.c_str());
    HcclComm comm = nullptr;
    HCCL_MUST(
        HcclCommInitClusterInfoConfig(rank.argument("table").c_str(), rank.rank(), &config, &comm));
    for (const uint64_t block : {1, 3001, 100003}) operations(rank, comm, session, block);
    session.synchronise();
    expect(logNames(item.substr(algo.size() + 1)), item + ": something else ran");
    HCCL_MUST(HcclCommDestroy(comm));
    rank.meet();
  }
});

void runLayout(const Layout& layout, const std::string& algorithms) {
  const std::filesystem::path table = std::filesystem::temp_directory_path() /
                                      ("hccl-levels-" + std::to_string(::getpid()) + ".json");
  std::ofstream(table) << rankTable(layout);
  for (const char* transport : {"shm", "tcp"}) {
    JobSpec spec;
    spec.body = "levels";
    spec.ranks = layout.ranks();
    spec.launch = Launch::kProcesses;
    spec.environment["HCCL_TRANSPORT"] = transport;
    spec.environment["HCCL_HOST_DEVICES"] = std::to_string(layout.ranks());
    spec.arguments = {"table=" + table.string(), "algorithms=" + algorithms};
    const JobResult result = runJob(spec);
    EXPECT_TRUE(result.ok()) << transport << ": " << result.text();
  }
  std::filesystem::remove(table);
}

TEST(Levels, EqualServers) {
  runLayout({{2, 2, 2}, {}},
            "level0:NA;level1:pipeline>fullmesh-pipeline-null+"
            "level0:NA;level1:NHR_V1>fullmesh-NHR_V1-null+level0:NA;level1:H-D_R>fullmesh-H-D-null+"
            "level0:NA;level1:AHC>fullmesh-AHC-null+level0:NA;level1:star>fullmesh-star-null+"
            "level0:NA;level1:doubling>fullmesh-doubling-null");
}

TEST(Levels, UnequalServers) {
  runLayout(
      {{3, 2}, {}},
      "level0:NA;level1:AHC>fullmesh-AHC-null+"
      "level0:NA;level1:AHC_BROKE>fullmesh-AHC_BROKE-null+level0:NA;level1:ring>ring-null-null");
}

TEST(Levels, SuperPods) {
  runLayout({{2, 2, 2, 2}, {2, 2}},
            "level0:NA;level1:ring;level2:NHR>fullmesh-ring-NHR+"
            "level0:NA;level1:pipeline;level2:ring>fullmesh-pipeline-ring+"
            "level0:NA;level1:NHR;level2:pipeline>fullmesh-null-pipeline");
}

TEST(Levels, UnequalSuperPods) {
  runLayout({{2, 2, 2}, {1, 2}},
            "level0:NA;level1:NA;level2:NA>fullmesh-null-AHC+"
            "level0:NA;level1:AHC_BROKE>fullmesh-null-AHC_BROKE");
}

}  // namespace
}  // namespace hccl::multirank
