#include "tests/fault/culprit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace hccl::faults {

uint64_t sharedNow() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

bool isSelfInflicted(const std::string& fault) {
  return fault == "kill" || fault == "segv" || fault == "stop" || fault == "exit";
}

void breakNow(multirank::Rank& rank, const std::string& fault) {
  rank.report("fault " + std::to_string(sharedNow()));
  if (fault == "kill") ::kill(::getpid(), SIGKILL);
  if (fault == "stop") ::kill(::getpid(), SIGSTOP);
  if (fault == "exit") std::exit(0);
  if (fault == "segv") {
    ::signal(SIGSEGV, SIG_DFL);
    ::kill(::getpid(), SIGSEGV);
  }
  if (fault == "cut") {
    (void)!std::system("ip link set hcclveth down");
    return;
  }
  for (;;) ::poll(nullptr, 0, -1);
}

void breakLater(multirank::Rank& rank, const std::string& fault, uint32_t microseconds) {
  std::thread([&rank, fault, microseconds] {
    const uint64_t due = sharedNow() + uint64_t{microseconds} * 1000;
    while (sharedNow() < due) ::usleep(50);
    breakNow(rank, fault);
  }).detach();
}

}  // namespace hccl::faults
