// 1000 mixed operations back to back with no synchronise between, on one stream and on three, over
// several communicators; every result is checked at the end.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/integration/matrix/run_case.h"
#include "tests/integration/support/element.h"
#include "tests/integration/support/job.h"

namespace hccl::multirank {
namespace {

constexpr uint32_t kJobRanks = 4;
constexpr size_t kOperations = 1000;
constexpr const char* kAlgorithms[] = {"", "level0:null;level1:ring", "level0:null;level1:NHR"};

// Legal cases of small and middle sizes, now and then a large one. All ranks draw alike.
std::vector<TestCase> drawCases(uint32_t ranks, size_t count) {
  std::vector<TestCase> all;
  uint64_t state = 1;
  while (all.size() < count) {
    TestCase c;
    for (uint8_t f = 0; f < kFactors; ++f) {
      c.factor[f] = static_cast<uint8_t>(mix(++state) % TestCase::levels()[f]);
    }
    c.factor[kRanks] = static_cast<uint8_t>(ranks - 1);
    c.factor[kLaunch] = c.factor[kTransport] = c.factor[kAlgorithm] = 0;
    const bool big = mix(++state) % 40 == 0;
    if (!big) c.factor[kCount] %= 4;
    if (c.legal()) all.push_back(c);
  }
  return all;
}

void soak(Rank& rank) {
  const auto streams = static_cast<size_t>(std::stoi(rank.argument("streams")));
  Session session(static_cast<int32_t>(rank.rank()));
  std::vector<aclrtStream> all = {session.stream()};
  while (all.size() < streams) {
    aclrtStream stream = nullptr;
    HCCL_MUST(aclrtCreateStream(&stream));
    all.push_back(stream);
  }
  std::vector<HcclComm> comms;
  for (const char* algo : kAlgorithms) {
    HcclCommConfig config = makeConfig();
    std::snprintf(config.hcclAlgo, sizeof(config.hcclAlgo), "%s", algo);
    comms.push_back(openByRootInfo(rank, &config));
  }
  std::vector<std::unique_ptr<PreparedCase>> cases;
  for (const TestCase& c : drawCases(rank.ranks(), kOperations / divisor())) {
    cases.push_back(std::make_unique<PreparedCase>(c, rank.rank(), mix(cases.size() + 1)));
  }
  rank.note("enqueueing");
  for (size_t i = 0; i < cases.size(); ++i) {
    try {
      cases[i]->issue(comms[mix(i) % comms.size()], all[i % all.size()]);
    } catch (const RankFailure& failure) {
      throw RankFailure("operation " + std::to_string(i) + ", " + cases[i]->test().text() + ": " +
                        failure.what());
    }
  }
  rank.note("synchronising");
  for (const aclrtStream stream : all) HCCL_MUST(aclrtSynchronizeStreamWithTimeout(stream, 100000));
  int wrong = 0;
  for (size_t i = 0; i < cases.size() && wrong < 3; ++i) {
    const std::string text = cases[i]->verify();
    if (text.empty()) continue;
    ++wrong;
    rank.fail("operation " + std::to_string(i) + ", " + cases[i]->test().text() + ": " + text);
  }
  for (const HcclComm comm : comms) HCCL_MUST(HcclCommDestroy(comm));
  for (size_t i = 1; i < all.size(); ++i) HCCL_MUST(aclrtDestroyStream(all[i]));
}

const RegisterBody body("soak", soak);

struct Way {
  Launch launch;
  const char* transport;
  int streams;
};

class Soak : public testing::TestWithParam<Way> {};

TEST_P(Soak, ManyOperationsWithoutSynchronise) {
  JobSpec spec;
  spec.body = "soak";
  spec.ranks = kJobRanks;
  spec.launch = GetParam().launch;
  spec.environment["HCCL_TRANSPORT"] = GetParam().transport;
  spec.arguments = {"streams=" + std::to_string(GetParam().streams)};
  const JobResult result = runJob(spec);
  EXPECT_TRUE(result.ok()) << result.text();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Soak,
    testing::Values(Way{Launch::kThreads, "shm", 1}, Way{Launch::kThreads, "tcp", 1},
                    Way{Launch::kProcesses, "shm", 1}, Way{Launch::kProcesses, "tcp", 1},
                    Way{Launch::kThreads, "shm", 3}, Way{Launch::kThreads, "tcp", 3},
                    Way{Launch::kProcesses, "shm", 3}, Way{Launch::kProcesses, "tcp", 3}),
    [](const auto& way) {
      return std::string(nameOf(way.param.launch)) + "_" + way.param.transport + "_" +
             std::to_string(way.param.streams);
    });

}  // namespace
}  // namespace hccl::multirank
