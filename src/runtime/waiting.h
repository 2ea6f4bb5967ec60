// WaitingPolicy: how a thread that found nothing to do waits: spin, give the core away, sleep.
#pragma once

#include <cstdint>

namespace hccl::runtime {

// What this process may use of the host, read once.
struct CpuBudget {
  uint32_t cpus = 1;       // affinity mask and control group quota, rounded up
  uint32_t hostRanks = 1;  // processes of this job on the host, as far as launchers tell
  bool wholeHost = true;   // the mask holds all online processors, so ranks share it
  uint32_t spinUs = 0;     // HCCL_HOST_SPIN_US
  bool spinGiven = false;
};
const CpuBudget& cpuBudget();
// A communicator has this many ranks on the host: launchers do not always tell.
void noteHostRanks(uint32_t ranks);
// Pure parts, for tests. Processors that "quota period" (cpu.max) allows; 0: no limit.
uint32_t cpusOfQuota(long long quotaUs, long long periodUs);
CpuBudget readCpuBudget();

class WaitingPolicy {
 public:
  enum class Step { kSpin, kYield, kSleep };

  // `worker`: nobody waits for this thread, so it gives up sooner.
  explicit WaitingPolicy(bool worker);
  // Something moved.
  void reset() {
    spins_ = 0;
    firstIdleNs_ = 0;
  }
  // What to do after a round without progress. `scanners`: awake threads of this process.
  Step next(uint32_t scanners);
  // Does it.
  static void pause();
  void yield();
  bool isContended() const { return contention_ >= kContended; }

 private:
  static constexpr int kContended = 4;
  static constexpr int kMostContended = 16;

  bool worker_;
  uint32_t spins_ = 0;
  uint64_t firstIdleNs_ = 0;
  int& contention_;  // of the calling thread: grows when giving the core away took long
};

}  // namespace hccl::runtime
