// Two hundred communicators of the public interface, one after the other in two processes, all over
// the RDMA device: what they use of it is given back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include "tests/integration/support/job.h"
#include "tests/integration/support/rank.h"
#include "tests/roce/rdma_facts.h"

namespace hccl::multirank {
namespace {

constexpr int kCommunicators = 200;
constexpr uint64_t kCount = 1000;

size_t descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(folder), end(folder)));
}

void useOne(Rank& rank, aclrtStream stream, bool looks) {
  const HcclComm comm = openByRootInfo(rank);
  std::vector<float> data(kCount, 1.0F + static_cast<float>(rank.rank()));
  HCCL_MUST(HcclAllReduce(data.data(), data.data(), kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                          comm, stream));
  HCCL_MUST(aclrtSynchronizeStream(stream));
  expect(data.front() == 3.0F && data.back() == 3.0F, "the sum is wrong");
  expect(!looks || roce::objectsOf(::getpid()).queuePairs > 0,
         "no queue pair: the operation took another way");
  HCCL_MUST(HcclCommDestroy(comm));
}

// What is closed by another thread takes a moment.
roce::Objects objectsAtRest() {
  roce::Objects left = roce::objectsOf(::getpid());
  for (int i = 0; i < 100 && left.queuePairs + left.completionQueues + left.regions > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    left = roce::objectsOf(::getpid());
  }
  return left;
}

void many(Rank& rank) {
  Session session(static_cast<int32_t>(rank.rank()));
  useOne(rank, session.stream(), true);
  (void)objectsAtRest();
  rank.meet();
  const size_t before = descriptors();
  for (int i = 0; i < kCommunicators; ++i) useOne(rank, session.stream(), i % 50 == 0);
  const roce::Objects left = objectsAtRest();
  rank.report("queue pairs " + std::to_string(left.queuePairs) + ", completion queues " +
              std::to_string(left.completionQueues) + ", regions " + std::to_string(left.regions));
  expect(left.queuePairs == 0 && left.completionQueues == 0 && left.regions == 0,
         "objects of the device are left");
  rank.meet();
  expect(descriptors() <= before, "descriptors are left: " + std::to_string(descriptors()) +
                                      " after " + std::to_string(before));
}

const RegisterBody kMany("many", many);

TEST(RoceCommunicators, TwoHundredLeaveNothing) {
  const roce::DeviceFacts facts = roce::usableDevice();
  ASSERT_FALSE(facts.device.empty()) << "no RDMA device with a RoCE v2 address";
  JobSpec spec;
  spec.body = "many";
  spec.ranks = 2;
  spec.launch = Launch::kProcesses;
  spec.environment["HCCL_TRANSPORT"] = "rdma";
  spec.environment["HCCL_INTRA_ROCE_ENABLE"] = "1";
  spec.environment["HCCL_IF_IP"] = facts.address;
  spec.limit = std::chrono::seconds(400);
  const JobResult result = runJob(spec);
  for (const std::string& report : result.reports) std::printf("%s\n", report.c_str());
  EXPECT_TRUE(result.ok()) << result.text();
}

}  // namespace
}  // namespace hccl::multirank
