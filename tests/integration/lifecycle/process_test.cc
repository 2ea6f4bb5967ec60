// Processes: two jobs at once, a job after a killed one, exit without destruction, fork.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/integration/lifecycle/inventory.h"
#include "tests/integration/support/job.h"
#include "tests/integration/support/rank.h"

namespace hccl::multirank {
namespace {

void allReduce(Rank& rank, HcclComm comm, Session& session, uint64_t count = 1000) {
  std::vector<int32_t> data(count, static_cast<int32_t>(rank.rank()) + 1);
  HCCL_MUST(HcclAllReduce(data.data(), data.data(), count, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          comm, session.stream()));
  session.synchronise();
  const auto n = static_cast<int32_t>(rank.ranks());
  for (const int32_t value : data)
    expect(value == n * (n + 1) / 2, "wrong sum " + std::to_string(value));
}

void plain(Rank& rank) {
  Session session(static_cast<int32_t>(rank.rank()));
  for (int i = 0; i < 5; ++i) {
    const HcclComm comm = openByRootInfo(rank);
    for (int k = 0; k < 20; ++k) allReduce(rank, comm, session);
    HCCL_MUST(HcclCommDestroy(comm));
  }
}

// Works until it is killed.
void endless(Rank& rank) {
  Session session(static_cast<int32_t>(rank.rank()));
  const HcclComm comm = openByRootInfo(rank);
  allReduce(rank, comm, session);
  rank.report("works");
  for (;;) allReduce(rank, comm, session, 200000);
}

void exitWithoutDestroy(Rank& rank) {
  auto* session = new Session(static_cast<int32_t>(rank.rank()));  // never ended
  {
    // Reachable to the end, so that no leak checker minds it.
    static std::mutex mutex;
    static auto* const kept = new std::vector<Session*>;
    std::lock_guard lock(mutex);
    kept->push_back(session);
  }
  const HcclComm comm = openByRootInfo(rank);
  allReduce(rank, comm, *session);
  rank.meet();
  // One more that nobody waits for, on memory that the process keeps to its end.
  void* data = nullptr;
  HCCL_MUST(aclrtMalloc(&data, 4000, ACL_MEM_MALLOC_HUGE_FIRST));
  std::memset(data, 0, 4000);
  // A peer that is quicker may be gone already, which the call then tells.
  const HcclResult result = HcclAllReduce(data, data, 1000, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                                          comm, session->stream());
  expect(result == HCCL_SUCCESS || result == HCCL_E_REMOTE,
         "the last call returned " + std::to_string(result));
}

// The child's calls fail with a text, the parent's communicator goes on.
void forking(Rank& rank) {
  Session session(static_cast<int32_t>(rank.rank()));
  const HcclComm comm = openByRootInfo(rank);
  allReduce(rank, comm, session);
  std::vector<int32_t> data(10, 1);
  const pid_t child = ::fork();
  if (child == 0) {
    const HcclResult collective = HcclAllReduce(data.data(), data.data(), 10, HCCL_DATA_TYPE_INT32,
                                                HCCL_REDUCE_SUM, comm, session.stream());
    const std::string text = takeErrorText();
    HcclRootInfo root;
    const HcclResult made = HcclGetRootInfo(&root);
    const aclError synchronised = aclrtSynchronizeStream(session.stream());
    const bool good = collective == HCCL_E_UNAVAIL && text.find("fork") != std::string::npos &&
                      made == HCCL_E_UNAVAIL && synchronised != ACL_SUCCESS;
    ::_exit(good ? 0 : 10 + collective);
  }
  allReduce(rank, comm, session);  // while the child lives
  int status = 0;
  expect(::waitpid(child, &status, 0) == child, "waitpid");
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0,
         "the child's calls: status " + std::to_string(status));
  for (int i = 0; i < 20; ++i) allReduce(rank, comm, session);
  HCCL_MUST(HcclCommDestroy(comm));
}

const RegisterBody bodies[] = {
    {"plain", plain}, {"endless", endless}, {"exit", exitWithoutDestroy}, {"fork", forking}};

class Processes : public testing::TestWithParam<const char*> {
 protected:
  JobSpec spec(const std::string& name, Launch launch = Launch::kProcesses, uint32_t ranks = 4) {
    JobSpec s;
    s.body = name;
    s.ranks = ranks;
    s.launch = launch;
    s.limit = std::chrono::seconds(60);
    s.environment["HCCL_TRANSPORT"] = GetParam();
    return s;
  }
};

TEST_P(Processes, TwoJobsAtOnceDoNotCollide) {
  Job first(spec("plain"));
  Job second(spec("plain"));
  Job third(spec("plain", Launch::kThreads));
  // The jobs run at the same time; who serves their meeting points takes turns.
  JobResult results[3];
  std::thread one([&] { results[0] = first.wait(); });
  std::thread two([&] { results[1] = second.wait(); });
  results[2] = third.wait();
  one.join();
  two.join();
  for (const JobResult& result : results) EXPECT_TRUE(result.ok()) << result.text();
}

TEST_P(Processes, AfterAKilledJobTheNextStartsAtOnce) {
  const auto shmBefore = namesIn("/dev/shm");
  const auto tmpBefore = namesIn("/tmp");
  const auto listenersBefore = listeningSockets();
  {
    Job job(spec("endless"));
    ASSERT_TRUE(job.waitForReports(4));
    job.kill(SIGKILL);
  }
  const auto begin = std::chrono::steady_clock::now();
  const JobResult result = runJob(spec("plain"));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(result.ok()) << result.text();
  EXPECT_LT(took.count(), 20.0 * divisor());
  EXPECT_EQ(namesIn("/dev/shm"), shmBefore);
  for (const std::string& name : namesIn("/tmp")) {
    // "hccl-" begins the folders of tests, which may run now; the library has no business in /tmp.
    EXPECT_TRUE(tmpBefore.contains(name) || name.find("hccl") == std::string::npos ||
                name.rfind("hccl-", 0) == 0)
        << name;
  }
  EXPECT_LE(listeningSockets().size(), listenersBefore.size() + 2)
      << "other programs may have opened some";
}

TEST_P(Processes, ExitWithoutDestroyIsClean) {
  for (const Launch launch : {Launch::kProcesses, Launch::kThreads}) {
    const auto begin = std::chrono::steady_clock::now();
    const JobResult result = runJob(spec("exit", launch));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(result.ok()) << nameOf(launch) << ": " << result.text();
    EXPECT_LT(took.count(), 15.0 * divisor()) << nameOf(launch);
  }
}

TEST_P(Processes, AForkedChildIsToldAndTheParentGoesOn) {
  const JobResult result = runJob(spec("fork", Launch::kProcesses, 2));
  EXPECT_TRUE(result.ok()) << result.text();
}

INSTANTIATE_TEST_SUITE_P(Transports, Processes, testing::Values("shm", "tcp"),
                         [](const auto& way) { return std::string(way.param); });

}  // namespace
}  // namespace hccl::multirank
