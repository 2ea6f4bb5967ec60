#include "tests/fault/run.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <sstream>

#include "tests/integration/servers/network.h"
#include "tests/integration/support/job.h"

namespace hccl::faults {
namespace {

constexpr double kScheduling = 1.0;  // of a machine with few cores
constexpr uint64_t kDestroyMs = 1000;

struct Said {
  uint32_t rank = 0;
  uint64_t ns = 0;
  int code = 0;
  uint64_t destroyMs = 0;
  std::string text;
};

// Jobs whose network is cut run on two servers.
int serverOf(const Injection& injection, uint32_t rank) {
  return rank < injection.ranks / 2 ? 0 : 1;
}

multirank::JobSpec specOf(const Injection& injection,
                          const std::shared_ptr<multirank::TwoServers>& network) {
  multirank::JobSpec spec;
  spec.body = "broken";
  spec.ranks = injection.ranks;
  spec.launch = multirank::Launch::kProcesses;
  spec.limit = std::chrono::seconds((kConnectTimeout + kExecTimeout) * 2 * multirank::divisor());
  spec.environment = {{"HCCL_TRANSPORT", injection.transport},
                      {"HCCL_CONNECT_TIMEOUT", std::to_string(kConnectTimeout)},
                      {"HCCL_EXEC_TIMEOUT", std::to_string(kExecTimeout)},
                      {"HCCL_HOST_HEARTBEAT_MS", std::to_string(kHeartbeatMs)},
                      {"HCCL_HOST_HEARTBEAT_LOST_MS", std::to_string(kLostMs)}};
  spec.arguments = {"fault=" + injection.fault, "stage=" + injection.stage,
                    "culprit=" + std::to_string(injection.culprit),
                    "seed=" + std::to_string(injection.seed),
                    "survives=" + std::to_string(injection.survives ? 1 : 0)};
  spec.prepare = [injection, network](uint32_t rank) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    if (network != nullptr && !network->enter(serverOf(injection, rank))) ::_exit(1);
  };
  return spec;
}

// The rank that the text blames, or -1.
int blamed(const std::string& text) {
  const std::string mark = "culprit rank ";
  const size_t at = text.find(mark);
  return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + mark.size());
}

// Who has to be named. A rank that takes another one's number is known by that number.
bool isTrueCulprit(const Injection& injection, uint32_t witness, int rank) {
  if (injection.fault == "cut") {  // both sides are at fault for the other one
    return rank >= 0 &&
           serverOf(injection, static_cast<uint32_t>(rank)) != serverOf(injection, witness);
  }
  if (injection.fault == "duplicate") return rank == static_cast<int>(injection.culprit) - 1;
  return rank == static_cast<int>(injection.culprit);
}

void judge(const Injection& injection, uint64_t faultNs, const Said& said, Outcome& outcome) {
  const std::string who = "rank " + std::to_string(said.rank);
  // A late rank is measured from its own call.
  const bool late = injection.fault == "late" && said.rank == injection.culprit;
  const double seconds = static_cast<double>(static_cast<int64_t>(said.ns - faultNs)) * 1e-9 -
                         (late ? kConnectTimeout + 1 : 0);
  ++outcome.survivors;
  outcome.seconds.push_back(seconds);
  const bool named = isTrueCulprit(injection, said.rank, blamed(said.text));
  if (named) ++outcome.named;
  outcome.sample = said.text;
  const auto problem = [&](const std::string& text) {
    outcome.problems.push_back(who + " " + text);
  };
  if (said.code == 0) return problem("heard of nothing");
  if (injection.named && !named) {
    problem("blames " + std::to_string(blamed(said.text)) + ": " + said.text);
  }
  if (!injection.code.empty() && said.text.find(injection.code) == std::string::npos) {
    problem("does not say " + injection.code + ": " + said.text);
  }
  if (seconds > (injection.bound + kScheduling) * multirank::divisor()) {
    problem("heard after " + std::to_string(seconds) + " s: " + said.text);
  }
  if (said.destroyMs > (kDestroyMs + 2000) * multirank::divisor()) {
    problem("needed " + std::to_string(said.destroyMs) + " ms for HcclCommDestroy");
  }
}

}  // namespace

Outcome inject(const Injection& injection) {
  Outcome outcome;
  std::shared_ptr<multirank::TwoServers> network;
  if (injection.fault == "cut") {
    network = std::make_shared<multirank::TwoServers>();
    if (!network->problem().empty()) {
      if (std::getenv("HCCL_TEST_NO_NETNS") == nullptr) outcome.problems = {network->problem()};
      return outcome;
    }
  }
  multirank::Job job(specOf(injection, network));
  const std::string culprit = "process " + std::to_string(job.processes()[injection.culprit]);
  if (injection.survives) {
    const multirank::JobResult result = job.wait();
    outcome.problems = result.failures;
    return outcome;
  }
  // The fault, and every survivor's word; a late rank has one, too, and each side of a cut network.
  const bool allSpeak = injection.fault == "late" || injection.fault == "cut";
  const size_t words = injection.ranks + (allSpeak ? 1 : 0);
  const bool all = job.waitForReports(words);
  if (injection.fault == "stop") ::kill(job.processes()[injection.culprit], SIGKILL);
  const multirank::JobResult result = job.wait();
  uint64_t faultNs = 0;
  std::vector<Said> heard;
  for (const std::string& report : result.reports) {
    std::istringstream words_(report);
    std::string kind;
    words_ >> kind;
    if (kind == "fault") {
      words_ >> faultNs;
      continue;
    }
    Said said;
    words_ >> said.rank >> said.ns >> said.code >> said.destroyMs;
    std::getline(words_, said.text, '\0');
    heard.push_back(said);
  }
  for (const Said& said : heard) judge(injection, faultNs, said, outcome);
  if (!all) outcome.problems.push_back("not every rank answered");
  for (const std::string& failure : result.failures) {
    // The culprit's own end is no problem.
    if (failure.rfind(culprit + " ", 0) != 0) outcome.problems.push_back(failure);
  }
  return outcome;
}

}  // namespace hccl::faults
