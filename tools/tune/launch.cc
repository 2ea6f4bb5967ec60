#include "tools/tune/launch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace hccl::tune {
namespace {

// A pipe to each rank, which rank 0 writes.
struct Pipe {
  int read = -1;
  int write = -1;
};

class PipeInvitation final : public Invitation {
 public:
  PipeInvitation(uint32_t rank, const std::vector<Pipe>& pipes) : rank_(rank), pipes_(pipes) {}
  uint32_t rank() const override { return rank_; }
  uint32_t ranks() const override { return static_cast<uint32_t>(pipes_.size()); }
  void share(HcclRootInfo* info) override {
    auto* bytes = reinterpret_cast<char*>(info);
    if (rank_ != 0) return readAll(pipes_[rank_].read, bytes);
    for (size_t r = 1; r < pipes_.size(); ++r) {
      if (::write(pipes_[r].write, bytes, sizeof(*info)) != ssize_t{sizeof(*info)}) {
        giveUp("a pipe broke");
      }
    }
  }

 private:
  static void readAll(int fd, char* bytes) {
    size_t got = 0;
    while (got < sizeof(HcclRootInfo)) {
      const ssize_t n = ::read(fd, bytes + got, sizeof(HcclRootInfo) - got);
      if (n <= 0) giveUp("rank 0 sent no root information");
      got += static_cast<size_t>(n);
    }
  }

  uint32_t rank_;
  const std::vector<Pipe>& pipes_;
};

[[noreturn]] void runChild(uint32_t rank, const std::vector<Pipe>& pipes,
                           const std::map<std::string, std::string>& environment,
                           const std::function<void(Invitation&)>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  PipeInvitation invitation(rank, pipes);
  body(invitation);
  std::fflush(stdout);
  ::_exit(0);
}

}  // namespace

bool runLocally(uint32_t ranks, const std::map<std::string, std::string>& environment,
                const std::function<void(Invitation&)>& body) {
  std::vector<Pipe> pipes(ranks);
  for (Pipe& pipe : pipes) {
    int ends[2];
    if (::pipe(ends) != 0) return false;
    pipe = {ends[0], ends[1]};
  }
  std::fflush(stdout);
  std::vector<pid_t> children;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) runChild(rank, pipes, environment, body);
    if (child > 0) children.push_back(child);
  }
  for (const Pipe& pipe : pipes) {
    ::close(pipe.read);
    ::close(pipe.write);
  }
  bool good = children.size() == ranks;
  while (!children.empty()) {
    int status = 0;
    const pid_t ended = ::wait(&status);
    if (ended < 0) return false;
    std::erase(children, ended);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    good = false;
    for (const pid_t child : children) ::kill(child, SIGKILL);
  }
  return good;
}

bool startedByMpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace hccl::tune
