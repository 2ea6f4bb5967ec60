// One rank calls something else than the others: every rank ends with an error that names the
// parameter and a rank, long before the time-out of operations, and none hangs.
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>

#include "tests/integration/support/job.h"
#include "tests/integration/support/rank.h"

namespace hccl::multirank {
namespace {

constexpr uint64_t kBytes = 1 << 20;
constexpr int kExecTimeout = 20;  // the safety net, s
constexpr int kSoon = 10;

struct Buffers {
  Buffers() {
    HCCL_MUST(aclrtMalloc(&send, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    HCCL_MUST(aclrtMalloc(&recv, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  ~Buffers() {
    (void)aclrtFree(send);
    (void)aclrtFree(recv);
  }
  void* send = nullptr;
  void* recv = nullptr;
};

// The call of the kind; `odd` on the rank that differs.
HcclResult differing(const std::string& kind, bool odd, uint64_t count, Buffers& b, HcclComm comm,
                     aclrtStream stream) {
  const auto fp32 = HCCL_DATA_TYPE_FP32;
  if (kind == "count") {
    return HcclAllReduce(b.send, b.recv, odd ? count + 1 : count, fp32, HCCL_REDUCE_SUM, comm,
                         stream);
  }
  if (kind == "op") {
    return HcclAllReduce(b.send, b.recv, count, fp32, odd ? HCCL_REDUCE_MAX : HCCL_REDUCE_SUM, comm,
                         stream);
  }
  if (kind == "dataType") {
    return HcclAllReduce(b.send, b.recv, count, odd ? HCCL_DATA_TYPE_INT32 : fp32, HCCL_REDUCE_SUM,
                         comm, stream);
  }
  if (kind == "root") return HcclBroadcast(b.send, count, fp32, odd ? 1 : 0, comm, stream);
  return odd ? HcclAllGather(b.send, b.recv, count, fp32, comm, stream)
             : HcclAllReduce(b.send, b.recv, count, fp32, HCCL_REDUCE_SUM, comm,
                             stream);  // cmdType
}

void mismatch(Rank& rank) {
  const std::string kind = rank.argument("kind");
  const bool odd = rank.rank() == rank.ranks() - 1;
  Session session(static_cast<int32_t>(rank.rank()));
  Buffers buffers;
  const HcclComm comm = openByRootInfo(rank);
  if (rank.argument("warm") == "1") {  // the links exist, the plan is in the cache
    HCCL_MUST(HcclAllReduce(buffers.send, buffers.recv, 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                            comm, session.stream()));
    session.synchronise();
  }
  rank.meet();
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t count = std::stoull(rank.argument("elements"));
  const HcclResult called = differing(kind, odd, count, buffers, comm, session.stream());
  std::string text = takeErrorText();
  aclError ended = ACL_SUCCESS;
  if (called == HCCL_SUCCESS) {
    ended = aclrtSynchronizeStreamWithTimeout(session.stream(), 2 * kExecTimeout * 1000);
    text = takeErrorText();
  }
  HcclResult state = HCCL_SUCCESS;
  HCCL_MUST(HcclGetCommAsyncError(comm, &state));
  if (called == HCCL_SUCCESS && ended == ACL_SUCCESS) {
    // A root that has sent everything, to ranks that wait for another one, is told when these
    // notice.
    expect(kind == "root", "no error");
    while (state == HCCL_SUCCESS &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(kSoon)) {
      ::poll(nullptr, 0, 10);
      HCCL_MUST(HcclGetCommAsyncError(comm, &state));
    }
  } else {
    expect(text.find("EI0005") != std::string::npos, "no EI0005: " + text);
    expect(text.find(kind) != std::string::npos,
           "the parameter " + kind + " is not named: " + text);
    expect(text.find("rank") != std::string::npos, "no rank is named: " + text);
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  expect(took < std::chrono::seconds(kSoon), "the error came late: " + text);
  expect(state != HCCL_SUCCESS, "HcclGetCommAsyncError knows nothing");
  rank.meet();  // nobody leaves before all have seen it
  HCCL_MUST(HcclCommDestroy(comm));
}

const RegisterBody body("mismatch", mismatch);

using Way = std::tuple<std::string, Launch, std::string, bool>;
class Mismatch : public testing::TestWithParam<Way> {};

TEST_P(Mismatch, EveryRankLearnsWhatDiffers) {
  const auto& [kind, launch, transport, warm] = GetParam();
  for (const char* elements : {"16", "50000"}) {
    JobSpec spec;
    spec.body = "mismatch";
    spec.ranks = 3;
    spec.launch = launch;
    spec.environment["HCCL_TRANSPORT"] = transport;
    spec.environment["HCCL_EXEC_TIMEOUT"] = std::to_string(kExecTimeout);
    spec.arguments = {"kind=" + kind, std::string("elements=") + elements,
                      std::string("warm=") + (warm ? "1" : "0")};
    const JobResult result = runJob(spec);
    EXPECT_TRUE(result.ok()) << elements << " elements: " << result.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Mismatch,
                         testing::Combine(testing::Values("count", "op", "dataType", "root",
                                                          "cmdType"),
                                          testing::Values(Launch::kThreads, Launch::kProcesses),
                                          testing::Values("shm", "tcp"), testing::Bool()),
                         [](const auto& way) {
                           return std::get<0>(way.param) + "_" + nameOf(std::get<1>(way.param)) +
                                  "_" + std::get<2>(way.param) +
                                  (std::get<3>(way.param) ? "_warm" : "_cold");
                         });

}  // namespace
}  // namespace hccl::multirank
