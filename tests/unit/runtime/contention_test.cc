// More ranks than processors: processes that meet in shared memory and wake each other by
// doorbells.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "src/runtime/engine.h"
#include "tests/unit/runtime/test_tasks.h"

namespace hccl::runtime {
namespace {

using testing::add;
using testing::ScopedStream;

constexpr int kRanks = 4;
constexpr int kRounds = 2000;

struct Shared {
  struct alignas(64) Line {
    std::atomic<int> value{0};
  };
  Line arrived[kRanks];
  double seconds[kRanks];
  double cpuSeconds[kRanks];
};

void sendFds(int socket, const std::array<int, 2>& fds) {
  char byte = 1;
  iovec io{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = {};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(fds));
  std::memcpy(CMSG_DATA(header), fds.data(), sizeof(fds));
  if (sendmsg(socket, &message, 0) != 1) _exit(21);
}

std::array<int, 2> receiveFds(int socket) {
  char byte = 0;
  iovec io{&byte, 1};
  std::array<int, 2> fds{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = {};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) _exit(22);
  std::memcpy(fds.data(), CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fds));
  return fds;
}

struct Peer {
  std::atomic<uint32_t>* word = nullptr;
  int event = -1;
  void ring() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (word->load(std::memory_order_relaxed) == 0) return;
    const uint64_t one = 1;
    if (::write(event, &one, sizeof(one)) != sizeof(one)) _exit(23);
  }
};

// `sockets[a][b]` is a's end of the pair of a and b.
void runRank(int rank, Shared* shared, const int (&sockets)[kRanks][kRanks]) {
  const Doorbell bell = *Engine::instance().doorbell();
  std::array<Peer, kRanks> peers;
  for (int p = 0; p < kRanks; ++p) {
    if (p != rank) sendFds(sockets[rank][p], {bell.pageFd, bell.eventFd});
  }
  for (int p = 0; p < kRanks; ++p) {
    if (p == rank) continue;
    const auto fds = receiveFds(sockets[rank][p]);
    peers[static_cast<size_t>(p)].word = static_cast<std::atomic<uint32_t>*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0));
    peers[static_cast<size_t>(p)].event = fds[1];
  }
  ScopedStream stream;
  const uint64_t start = monotonicNs();
  for (int round = 1; round <= kRounds; ++round) {
    bool announced = false;
    add(stream.get(), [&, announced, round]() mutable {
      if (!announced) {
        announced = true;
        shared->arrived[rank].value.store(round, std::memory_order_release);
        for (int p = 0; p < kRanks; ++p) {
          if (p != rank) peers[static_cast<size_t>(p)].ring();
        }
        return Poll::kProgress;
      }
      for (auto& line : shared->arrived) {
        if (line.value.load(std::memory_order_acquire) < round) return Poll::kIdle;
      }
      return Poll::kDone;
    });
    if (!synchronize(stream.get(), Deadline::after(20)).isOk()) _exit(24);
  }
  shared->seconds[rank] = static_cast<double>(monotonicNs() - start) * 1e-9;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  shared->cpuSeconds[rank] =
      static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
      static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

TEST(Contention, FourProcessesMeetManyTimes) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* shared = new (memory) Shared;
  int sockets[kRanks][kRanks] = {};
  for (int a = 0; a < kRanks; ++a) {
    for (int b = a + 1; b < kRanks; ++b) {
      int pair[2];
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
      sockets[a][b] = pair[0];
      sockets[b][a] = pair[1];
    }
  }
  std::array<pid_t, kRanks> children{};
  for (int r = 0; r < kRanks; ++r) {
    children[static_cast<size_t>(r)] = fork();
    if (children[static_cast<size_t>(r)] == 0) {
      alarm(60);
      runRank(r, shared, sockets);
      std::exit(0);
    }
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  double slowest = 0;
  double cpu = 0;
  for (int r = 0; r < kRanks; ++r) {
    slowest = std::max(slowest, shared->seconds[r]);
    cpu += shared->cpuSeconds[r];
  }
  std::printf("%.1f us a round, %.1f us of processor time\n", slowest / kRounds * 1e6,
              cpu / kRounds * 1e6);
  EXPECT_LT(slowest / kRounds, 0.005);  // lost wake-ups would cost 20 ms each
  munmap(memory, sizeof(Shared));
  for (auto& row : sockets) {
    for (const int fd : row) {
      if (fd > 0) close(fd);
    }
  }
}

}  // namespace
}  // namespace hccl::runtime
