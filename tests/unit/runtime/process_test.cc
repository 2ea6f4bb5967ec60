// The engine against other processes and against the ends of a process: doorbell, idleness, fork,
// exit.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "src/runtime/acl_api.h"
#include "src/runtime/engine_core.h"
#include "tests/unit/runtime/test_tasks.h"

namespace hccl::runtime {
namespace {

using testing::add;
using testing::ScopedStream;

void sleepMs(int ms) {
  timespec wait{ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&wait, nullptr);
}

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Runs `body` in a child that has not used the runtime before, and returns its wait status; a child
// that hangs is killed after 20 s.
int inChild(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // SIGALRM ends it
    body();
    _exit(99);  // bodies end the process themselves
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

bool exitedWith(int status, int code) {
  return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

// ---- exit: these come first, while this process has not used the runtime ----

TEST(AProcessEnd, ExitWithoutDestroyIsClean) {
  EXPECT_TRUE(exitedWith(inChild([] {
                           acl::aclrtSetDevice(0);
                           aclrtStream stream = nullptr;
                           void* memory = nullptr;
                           acl::aclrtCreateStream(&stream);
                           acl::aclrtMalloc(&memory, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST);
                           acl::aclrtMemsetAsync(memory, 1 << 20, 1, 1 << 20, stream);
                           acl::aclrtLaunchHostFunc(
                               stream, [](void*) {}, nullptr);
                           std::exit(7);
                         }),
                         7));
}

TEST(ALimitOfTheShell, DeviceMemoryStaysBelowTheLimitOnFileSizes) {
  EXPECT_TRUE(exitedWith(inChild([] {
                           constexpr rlimit kLimit{8 << 20, 8 << 20};
                           setrlimit(RLIMIT_FSIZE, &kLimit);
                           acl::aclrtSetDevice(0);
                           void* small = nullptr;
                           void* large = nullptr;
                           if (acl::aclrtMalloc(&small, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST) != 0) {
                             _exit(1);
                           }
                           const aclError refused =
                               acl::aclrtMalloc(&large, 9 << 20, ACL_MEM_MALLOC_HUGE_FIRST);
                           _exit(refused == ACL_ERROR_RT_MEMORY_ALLOCATION ? 11 : 2);
                         }),
                         11));
}

TEST(ALimitOfTheShell, DeviceMemoryFitsIntoALimitedAddressSpace) {
#ifdef HCCL_SANITIZED
  GTEST_SKIP() << "sanitizers need the address space";
#endif
  EXPECT_TRUE(exitedWith(
      inChild([] {
        constexpr rlimit kLimit{8ULL << 30, 8ULL << 30};
        setrlimit(RLIMIT_AS, &kLimit);
        acl::aclrtSetDevice(0);
        void* memory = nullptr;
        _exit(acl::aclrtMalloc(&memory, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST) == 0 ? 12 : 1);
      }),
      12));
}

TEST(AProcessEnd, ExitWithATaskThatNeverEndsIsClean) {
  EXPECT_TRUE(exitedWith(inChild([] {
                           void* stream = *createStream(0, 0, 0);
                           add(findStream(stream), [] { return Poll::kIdle; });
                           sleepMs(30);  // the worker has it by now
                           std::exit(8);
                         }),
                         8));
}

TEST(AProcessEnd, ExitInsideACallbackIsClean) {
  EXPECT_TRUE(exitedWith(inChild([] {
                           acl::aclrtSetDevice(0);
                           aclrtStream stream = nullptr;
                           acl::aclrtCreateStream(&stream);
                           acl::aclrtLaunchHostFunc(
                               stream, [](void*) { std::exit(9); }, nullptr);
                           acl::aclrtSynchronizeStream(stream);
                           _exit(1);
                         }),
                         9));
}

TEST(AProcessEnd, ExitWhileAHostFunctionRunsIsClean) {
  EXPECT_TRUE(exitedWith(inChild([] {
                           acl::aclrtSetDevice(0);
                           aclrtStream stream = nullptr;
                           acl::aclrtCreateStream(&stream);
                           acl::aclrtLaunchHostFunc(
                               stream, [](void*) { sleepMs(15000); }, nullptr);
                           sleepMs(30);
                           std::exit(10);
                         }),
                         10));
}

// A static object of the program that outlives the runtime's atexit handler.
struct LateUser {
  aclrtStream stream = nullptr;
  bool armed = false;
  ~LateUser() {
    if (!armed) return;
    const aclError code = acl::aclrtDestroyStream(stream);
    _exit(code == ACL_ERROR_RT_INTERNAL_ERROR ? 11 : 12);
  }
};
LateUser lateUser;

TEST(AProcessEnd, CallsFromLateDestructorsAreRefused) {
  EXPECT_TRUE(exitedWith(inChild([] {
                           acl::aclrtSetDevice(0);
                           acl::aclrtCreateStream(&lateUser.stream);
                           lateUser.armed = true;
                           std::exit(0);
                         }),
                         11));
}

TEST(AProcessEnd, ForkedChildIsRefusedAndTheParentGoesOn) {
  EXPECT_TRUE(exitedWith(
      inChild([] {
        acl::aclrtSetDevice(0);
        aclrtStream stream = nullptr;
        aclrtEvent event = nullptr;
        void* memory = nullptr;
        acl::aclrtCreateStream(&stream);
        acl::aclrtCreateEvent(&event);
        acl::aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
        acl::aclrtRecordEvent(event, stream);
        acl::aclrtSynchronizeStream(stream);
        const int epoll = *Engine::instance().wakeSet();
        const pid_t child = fork();
        if (child == 0) {
          alarm(10);
          int bad = 0;
          bad += !isForkedChild();
          bad += acl::aclrtSynchronizeStream(stream) != ACL_ERROR_RT_INTERNAL_ERROR;
          bad += acl::aclrtRecordEvent(event, stream) != ACL_ERROR_RT_INTERNAL_ERROR;
          bad += acl::aclrtFree(memory) != ACL_ERROR_RT_INTERNAL_ERROR;
          bad += acl::aclrtSetDevice(0) != ACL_ERROR_RT_INTERNAL_ERROR;
          bad += acl::aclGetRecentErrMsg() == nullptr;
          bad += Engine::instance().doorbell().status().code() != HCCL_E_UNAVAIL;
          bad += synchronize(findStream(stream), Deadline::after(1)).code() != HCCL_E_UNAVAIL;
          bad += fcntl(epoll, F_GETFD) != -1;  // closed here
          Engine::instance().wake();
          std::exit(bad == 0 ? 42 : bad);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (!exitedWith(status, 42)) std::exit(13);
        static_cast<char*>(memory)[0] = 1;
        if (acl::aclrtMemsetAsync(memory, 4096, 3, 4096, stream) != ACL_SUCCESS) std::exit(14);
        if (acl::aclrtSynchronizeStream(stream) != ACL_SUCCESS) std::exit(15);
        if (static_cast<char*>(memory)[4095] != 3) std::exit(16);
        std::exit(0);
      }),
      0));
}

// ---- threads ----

TEST(Process, LibraryThreadsHaveNamesAndBlockSignals) {
  ScopedStream stream;
  add(stream.get(), [] { return Poll::kDone; });
  ASSERT_TRUE(synchronize(stream.get(), Deadline::after(10)).isOk());
  int found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    if (name.rfind("hccl-", 0) != 0) continue;
    ++found;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("SigBlk:", 0) != 0) continue;
      const uint64_t mask = std::stoull(line.substr(7), nullptr, 16);
      for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGALRM, SIGCHLD}) {
        EXPECT_NE(mask & (1ULL << (signal - 1)), 0u) << name << " takes signal " << signal;
      }
    }
  }
  const char* workers = std::getenv("HCCL_HOST_WORKERS");
  EXPECT_EQ(found, workers != nullptr ? std::atoi(workers) : 1);
}

// ---- doorbell ----

TEST(Process, APeerProcessWakesASleepingOne) {
  const Doorbell bell = *Engine::instance().doorbell();
  // What the peer signals: a shared counter.
  auto* value = static_cast<std::atomic<int>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(value, MAP_FAILED);
  // The child gets its own descriptors, as if they had been passed over a socket: in a forked child
  // the runtime closes its own ones.
  const int page = fcntl(bell.pageFd, F_DUPFD_CLOEXEC, 0);
  const int event = fcntl(bell.eventFd, F_DUPFD_CLOEXEC, 0);
  constexpr int kRounds = 30;
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    auto* word = static_cast<std::atomic<uint32_t>*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0));
    int rings = 0;
    for (int i = 1; i <= kRounds; ++i) {
      while (value[1].load() < i) sleepMs(0);
      sleepMs(i % 3 == 0 ? 0 : 10);  // the parent sleeps by now, mostly
      value->store(i, std::memory_order_release);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (word->load(std::memory_order_relaxed) != 0) {
        const uint64_t one = 1;
        if (::write(event, &one, sizeof(one)) == sizeof(one)) ++rings;
      }
    }
    value[2].store(rings);
    _exit(0);
  }
  ScopedStream stream;
  double slowest = 0;
  for (int i = 1; i <= kRounds; ++i) {
    add(stream.get(), [value, i] { return value->load() >= i ? Poll::kDone : Poll::kIdle; });
    value[1].store(i);
    const uint64_t start = monotonicNs();
    ASSERT_TRUE(synchronize(stream.get(), Deadline::after(20)).isOk());
    slowest = std::max(slowest, static_cast<double>(monotonicNs() - start) * 1e-6);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(exitedWith(status, 0));
  EXPECT_GE(value[2].load(), kRounds / 3);
  RecordProperty("slowestMs", std::to_string(slowest));
  close(page);
  close(event);
  munmap(value, 4096);
}

TEST(Process, TheWordIsSetOnlyWhileSomebodySleepsForWork) {
  const Doorbell bell = *Engine::instance().doorbell();
  sleepMs(10);
  EXPECT_EQ(bell.sleepers->load(), 0u);  // idle: nothing to be woken for
  ScopedStream stream;
  std::atomic<bool> open{false};
  add(stream.get(), [&] { return open ? Poll::kDone : Poll::kIdle; });
  const uint64_t start = monotonicNs();
  while (bell.sleepers->load() == 0 && monotonicNs() - start < 5'000'000'000) sleepMs(1);
  EXPECT_EQ(bell.sleepers->load(), 1u);
  open = true;
  Engine::instance().wake();
  ASSERT_TRUE(synchronize(stream.get(), Deadline::after(10)).isOk());
  EXPECT_EQ(bell.sleepers->load(), 0u);
}

// ---- cost ----

TEST(Process, AnIdleProcessUsesNoCpu) {
  ScopedStream stream;
  add(stream.get(), [] { return Poll::kDone; });
  ASSERT_TRUE(synchronize(stream.get(), Deadline::after(10)).isOk());
  sleepMs(50);
  const double before = cpuSeconds();
  sleepMs(1000);
  EXPECT_LT(cpuSeconds() - before, 0.002);
}

TEST(Process, AProcessThatWaitsForAPeerUsesLittleCpu) {
  ScopedStream stream;
  std::atomic<bool> open{false};
  add(stream.get(), [&] { return open ? Poll::kDone : Poll::kIdle; });
  sleepMs(50);
  const double before = cpuSeconds();
  EXPECT_EQ(synchronize(stream.get(), Deadline::after(1)).code(), HCCL_E_TIMEOUT);
  EXPECT_LT(cpuSeconds() - before, 0.05);
  open = true;
  EXPECT_TRUE(synchronize(stream.get(), Deadline::after(10)).isOk());
}

TEST(Process, EnqueueMakesAtMostOneSystemCallAMillisecond) {
  ScopedStream stream;
  EngineCore& core = EngineCore::instance();
  const uint64_t ticks = core.ticksArmed();
  const uint64_t rings = core.rings();
  const uint64_t start = monotonicNs();
  constexpr int kCalls = 20000;
  for (int i = 0; i < kCalls; ++i) {
    add(stream.get(), [] { return Poll::kDone; });
    if (i % 4 == 0) {
      ASSERT_TRUE(synchronize(stream.get(), Deadline::after(10)).isOk());
    }
  }
  ASSERT_TRUE(synchronize(stream.get(), Deadline::after(10)).isOk());
  const double ms = static_cast<double>(monotonicNs() - start) * 1e-6;
  EXPECT_LE(static_cast<double>(core.ticksArmed() - ticks), ms + 2);
  // One for each time that a thread fell asleep, which it does not in a busy loop.
  EXPECT_LE(static_cast<double>(core.rings() - rings), ms + 2);
  RecordProperty("nsPerTask", std::to_string(ms * 1e6 / kCalls));
}

// ---- pollers ----

TEST(Process, PollersAreAdvancedUntilRemoved) {
  struct Counter : Poller {
    std::atomic<int> calls{0};
    bool poll() noexcept override {
      ++calls;
      return false;
    }
  } counter;
  Engine& engine = Engine::instance();
  engine.addPoller(&counter);
  EXPECT_TRUE(engine.helpUntil([&] { return counter.calls > 3; }, Deadline::after(5)));
  // A descriptor of the wake set has the idle process poll.
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(epoll_ctl(*engine.wakeSet(), EPOLL_CTL_ADD, wake, &event), 0);
  sleepMs(50);  // the helper is gone and the worker asleep
  const int before = counter.calls;
  const uint64_t one = 1;
  ASSERT_EQ(write(wake, &one, 8), 8);
  const uint64_t start = monotonicNs();
  while (counter.calls == before && monotonicNs() - start < 2'000'000'000) sleepMs(1);
  EXPECT_GT(counter.calls, before);
  // And without events it costs nothing.
  const double cpu = cpuSeconds();
  sleepMs(300);
  EXPECT_LT(cpuSeconds() - cpu, 0.005);
  engine.removePoller(&counter);
  const int last = counter.calls;
  EXPECT_FALSE(engine.helpUntil([] { return false; }, Deadline::after(0.01)));
  EXPECT_EQ(counter.calls, last);
  close(wake);
}

TEST(Process, HelpUntilIsWokenByAnotherThread) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    sleepMs(60);
    done = true;
    Engine::instance().wake();
  });
  const uint64_t start = monotonicNs();
  EXPECT_TRUE(Engine::instance().helpUntil([&] { return done.load(); }, Deadline::after(10)));
  EXPECT_LT(static_cast<double>(monotonicNs() - start) * 1e-6, 500);
  other.join();
}

}  // namespace
}  // namespace hccl::runtime
