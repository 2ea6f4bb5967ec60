#include "src/runtime/waiting.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>

#include "src/base/clock.h"
#include "src/base/env.h"

namespace hccl::runtime {
namespace {

// Waking a sleeper costs about 11 us; a wait that already took a multiple of it may sleep.
constexpr uint64_t kFreeCoreBudgetNs = 1000 * 1000;
constexpr uint64_t kSharedCoreBudgetNs = 200 * 1000;
constexpr uint64_t kWorkerFreeBudgetNs = 200 * 1000;
constexpr uint64_t kWorkerSharedBudgetNs = 20 * 1000;
// A sched_yield that took longer let somebody else run.
constexpr uint64_t kOthersRanNs = 3000;
constexpr uint32_t kSpinsBetweenYields = 64;

constexpr int kCrowdedContention = 16;

std::atomic<uint32_t> notedHostRanks{1};
thread_local int threadContention = 0;
thread_local bool threadKnowsCrowd = false;

bool isCrowded() {
  const CpuBudget& budget = cpuBudget();
  const uint32_t ranks = std::max(budget.hostRanks, notedHostRanks.load(std::memory_order_relaxed));
  return budget.wholeHost && ranks > budget.cpus;
}

// More ranks than processors: a thread begins with giving the core away, and learns from there.
int& contentionOfThread() {
  if (!threadKnowsCrowd && isCrowded()) {
    threadKnowsCrowd = true;
    threadContention = kCrowdedContention;
  }
  return threadContention;
}

uint32_t launcherRanks() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE",
                           "LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE"}) {
    if (const char* text = std::getenv(name); text != nullptr) {
      const int ranks = std::atoi(text);
      if (ranks > 0) return static_cast<uint32_t>(ranks);
    }
  }
  return 1;
}

// The quota of this process' control group (version 2), or of version 1's root.
uint32_t quotaCpus() {
  std::string path;
  std::ifstream groups("/proc/self/cgroup");
  std::string v1Path;
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::", 0) == 0) path = line.substr(3);
    const size_t cpu = line.find(":cpu");
    if (cpu != std::string::npos) v1Path = line.substr(line.rfind(':') + 1);
  }
  uint32_t least = 0;
  const auto take = [&least](uint32_t cpus) {
    if (cpus != 0 && (least == 0 || cpus < least)) least = cpus;
  };
  for (std::string at = path; !at.empty(); at = at.substr(0, at.rfind('/'))) {
    std::ifstream max("/sys/fs/cgroup" + (at == "/" ? "" : at) + "/cpu.max");
    std::string quota;
    long long period = 0;
    if (max >> quota >> period && quota != "max")
      take(cpusOfQuota(std::atoll(quota.c_str()), period));
  }
  for (const std::string& at : {v1Path, std::string()}) {
    std::ifstream quotaFile("/sys/fs/cgroup/cpu" + at + "/cpu.cfs_quota_us");
    std::ifstream periodFile("/sys/fs/cgroup/cpu" + at + "/cpu.cfs_period_us");
    long long quota = 0;
    long long period = 0;
    if (quotaFile >> quota && periodFile >> period) take(cpusOfQuota(quota, period));
  }
  return least;
}

}  // namespace

uint32_t cpusOfQuota(long long quotaUs, long long periodUs) {
  if (quotaUs <= 0 || periodUs <= 0) return 0;
  return static_cast<uint32_t>(std::max(1LL, (quotaUs + periodUs - 1) / periodUs));
}

CpuBudget readCpuBudget() {
  CpuBudget budget;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    budget.cpus = static_cast<uint32_t>(std::max(1, CPU_COUNT(&mask)));
    budget.wholeHost = CPU_COUNT(&mask) >= sysconf(_SC_NPROCESSORS_ONLN);
  } else {
    budget.cpus = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  }
  if (const uint32_t quota = quotaCpus(); quota != 0) budget.cpus = std::min(budget.cpus, quota);
  budget.hostRanks = launcherRanks();
  if (auto env = environment(); env.isOk() && (*env)->hostSpinUs.has_value()) {
    budget.spinGiven = true;
    budget.spinUs = *(*env)->hostSpinUs;
  }
  return budget;
}

const CpuBudget& cpuBudget() {
  static const CpuBudget budget = readCpuBudget();
  return budget;
}

void noteHostRanks(uint32_t ranks) {
  uint32_t known = notedHostRanks.load(std::memory_order_relaxed);
  while (known < ranks && !notedHostRanks.compare_exchange_weak(known, ranks)) {
  }
}

WaitingPolicy::WaitingPolicy(bool worker) : worker_(worker), contention_(contentionOfThread()) {}

WaitingPolicy::Step WaitingPolicy::next(uint32_t scanners) {
  const CpuBudget& cpu = cpuBudget();
  const bool shared = isContended() || scanners > cpu.cpus || (worker_ && cpu.cpus == 1);
  ++spins_;
  if (!shared && spins_ % kSpinsBetweenYields != 0) return Step::kSpin;
  const uint64_t now = monotonicNs();
  if (firstIdleNs_ == 0) firstIdleNs_ = now;
  uint64_t budget = 0;
  if (cpu.spinGiven) {
    budget = static_cast<uint64_t>(cpu.spinUs) * 1000;
  } else if (worker_) {
    budget = shared ? kWorkerSharedBudgetNs : kWorkerFreeBudgetNs;
  } else {
    budget = shared ? kSharedCoreBudgetNs : kFreeCoreBudgetNs;
  }
  return now - firstIdleNs_ >= budget ? Step::kSleep : Step::kYield;
}

void WaitingPolicy::pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

void WaitingPolicy::yield() {
  const uint64_t before = monotonicNs();
  sched_yield();
  if (monotonicNs() - before > kOthersRanNs) {
    contention_ = std::min(contention_ + kContended, kMostContended);
  } else if (contention_ > 0) {
    --contention_;
  }
}

}  // namespace hccl::runtime
