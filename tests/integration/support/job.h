// Jobs: n ranks as threads of one process or as processes of their own, started by a program out of
// itself. The parent uses no function of the library. It is the ranks' meeting point
// (Rank::allGather), collects what they report, and ends a job that takes too long. Children die
// with their parent.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hccl::multirank {

class Rank;
using Body = std::function<void(Rank&)>;

// The bodies of a program, by name: what its ranks can be told to run.
struct RegisterBody {
  RegisterBody(const char* name, Body body);
};

// Runs the ranks of this process and exits, when the arguments say that it is part of a job. To be
// the first call of main().
void runIfPartOfJob(int argc, char** argv);

enum class Launch : uint8_t { kThreads, kProcesses };
const char* nameOf(Launch launch);

struct JobSpec {
  std::string body;
  uint32_t ranks = 1;
  Launch launch = Launch::kThreads;
  std::vector<std::string> arguments;
  // Of the children. HCCL_* of the caller is not inherited; what a job always gets: see job.cc.
  std::map<std::string, std::string> environment;
  std::chrono::seconds limit{120};
  // Runs in each child before exec, with the number of its first rank.
  std::function<void(uint32_t)> prepare;
};

struct JobResult {
  std::vector<std::string> failures;
  std::vector<std::string> reports;  // Rank::report, in the order of arrival
  bool ok() const { return failures.empty(); }
  std::string text() const;
};

class Job {
 public:
  explicit Job(JobSpec spec);
  ~Job();  // kills what still runs, and removes the job's folder
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Serves the ranks until all have ended. Once.
  JobResult wait();
  // Serves the ranks until `reports` reports have come (false: they ended, or the time is over).
  bool waitForReports(size_t reports);
  // Ends all processes of the job with the signal, and waits for their end.
  void kill(int signal);
  const std::vector<pid_t>& processes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

JobResult runJob(const JobSpec& spec);

// HCCL_TEST_DIVISOR: how much less a program should do (1 unless sanitizers slow it down).
uint32_t divisor();
// HCCL_TEST_FULL=1.
bool fullProduct();

}  // namespace hccl::multirank
