#include "tests/integration/servers/network.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace hccl::multirank {
namespace {

// A new network namespace, held by a descriptor that children inherit; -1 when it cannot be made.
int makeNamespace() {
  int fd = -1;
  std::thread maker([&fd] {  // a thread of its own: the caller's namespace stays
    if (::unshare(CLONE_NEWNET) == 0) fd = ::open("/proc/thread-self/ns/net", O_RDONLY);
  });
  maker.join();
  return fd;
}

}  // namespace

TwoServers::TwoServers() {
  for (int& fd : fds_) {
    fd = makeNamespace();
    if (fd < 0) {
      problem_ = "a network namespace could not be made (needs root)";
      return;
    }
  }
  const std::string name = kInterface;
  const bool made = runIn(0, "ip link add " + name + " type veth peer name " + name +
                                 " netns /proc/self/fd/" + std::to_string(fds_[1]));
  bool up = made;
  for (int s = 0; up && s < 2; ++s) {
    up = runIn(s, "ip addr add " + std::string(kAddress[s]) + "/24 dev " + name +
                      " && ip link set " + name + " up && ip link set lo up");
  }
  if (!up)
    problem_ = "the veth pair could not be made (needs ip of iproute2, and the kernel's veth)";
}

TwoServers::~TwoServers() {
  for (const int fd : fds_) {
    if (fd >= 0) ::close(fd);
  }
}

bool TwoServers::enter(int server) const {
  return ::setns(fds_[server], CLONE_NEWNET) == 0;
}

bool TwoServers::runIn(int server, const std::string& command) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!enter(server)) ::_exit(1);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

uint64_t TwoServers::bytesSent(int server) const {
  uint64_t sent = 0;
  std::thread reader([&] {
    if (!enter(server)) return;
    // "name: received bytes, 7 more, sent bytes, ..."
    std::ifstream file("/proc/thread-self/net/dev");
    for (std::string line; std::getline(file, line);) {
      const size_t at = line.find(std::string(kInterface) + ":");
      if (at == std::string::npos) continue;
      std::stringstream numbers(line.substr(line.find(':') + 1));
      for (int i = 0; i < 9; ++i) numbers >> sent;
    }
  });
  reader.join();
  return sent;
}

}  // namespace hccl::multirank
