// 500 times a communicator of 4 ranks is made, used once and destroyed: nothing is left over.
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "tests/integration/lifecycle/inventory.h"
#include "tests/integration/support/job.h"
#include "tests/integration/support/rank.h"

namespace hccl::multirank {
namespace {

void oneRound(Rank& rank, Session& session, int32_t* buffer) {
  const HcclComm comm = openByRootInfo(rank);
  for (int i = 0; i < 100; ++i) buffer[i] = static_cast<int32_t>(rank.rank()) + i;
  HCCL_MUST(HcclAllReduce(buffer, buffer, 100, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                          session.stream()));
  session.synchronise();
  const auto n = static_cast<int32_t>(rank.ranks());
  for (int i = 0; i < 100; ++i) expect(buffer[i] == n * (n - 1) / 2 + n * i, "wrong result");
  HCCL_MUST(HcclCommDestroy(comm));
}

// Connections end on the library's control thread, after HcclCommDestroy has returned: what is left
// is counted when it no longer falls, or after 5 s.
Inventory settled(const Inventory& before) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  Inventory now = Inventory::ofThisProcess();
  while ((now.descriptors > before.descriptors || now.threads > before.threads ||
          now.mappings > before.mappings) &&
         std::chrono::steady_clock::now() < end) {
    ::poll(nullptr, 0, 10);
    now = Inventory::ofThisProcess();
  }
  return now;
}

void churn(Rank& rank) {
  const int warmUp = std::stoi(rank.argument("warmup"));
  const int rounds = std::stoi(rank.argument("rounds"));
  Session session(static_cast<int32_t>(rank.rank()));
  void* buffer = nullptr;
  HCCL_MUST(aclrtMalloc(&buffer, 400, ACL_MEM_MALLOC_HUGE_FIRST));
  Inventory before;
  for (int i = 0; i < warmUp + rounds; ++i) {
    rank.note("round " + std::to_string(i));
    oneRound(rank, session, static_cast<int32_t*>(buffer));
    rank.meet();
    if (i + 1 == warmUp && rank.rank() == 0) before = Inventory::ofThisProcess();
    if (i + 1 == warmUp) rank.meet();  // nobody goes on while it is counted
  }
  Inventory after;
  if (rank.rank() == 0) after = settled(before);
  rank.meet();
  HCCL_MUST(aclrtFree(buffer));
  if (rank.rank() != 0) return;
  rank.report("before: " + before.text() + "; after: " + after.text());
  expect(after.descriptors <= before.descriptors,
         "descriptors are left: " + before.text() + " -> " + after.text());
  expect(after.threads <= before.threads,
         "threads are left: " + before.text() + " -> " + after.text());
  expect(after.listeners <= before.listeners,
         "listeners are left: " + before.text() + " -> " + after.text());
  // The allocator of the C library may cut its own mappings a few more times, and keep some pages.
  expect(after.mappings <= before.mappings + 12,
         "mappings are left: " + before.text() + " -> " + after.text());
  const size_t allowedKb =
      std::getenv("HCCL_TEST_DIVISOR") != nullptr ? 600000 : 4096;  // sanitizers keep a lot
  expect(after.residentKb <= before.residentKb + allowedKb,
         "memory is left: " + before.text() + " -> " + after.text());
}

const RegisterBody body("churn", churn);

TEST(Lifecycle, FiveHundredCommunicatorsLeaveNothing) {
  for (const char* transport : {"shm", "tcp"}) {
    for (const Launch launch : {Launch::kThreads, Launch::kProcesses}) {
      // Processes take the same way for fewer rounds: what they could leave shows as well.
      const int rounds = launch == Launch::kThreads ? 500 : 100;
      JobSpec spec;
      spec.body = "churn";
      spec.ranks = 4;
      spec.launch = launch;
      spec.environment["HCCL_TRANSPORT"] = transport;
      spec.arguments = {"warmup=20",
                        "rounds=" + std::to_string(rounds / static_cast<int>(divisor()))};
      const auto begin = std::chrono::steady_clock::now();
      const JobResult result = runJob(spec);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      EXPECT_TRUE(result.ok()) << transport << ", " << nameOf(launch) << ": " << result.text();
      for (const std::string& report : result.reports) {
        std::cout << transport << ", " << nameOf(launch) << ", " << took.count() << " s: " << report
                  << std::endl;
      }
    }
  }
}

}  // namespace
}  // namespace hccl::multirank
