// Memory of another process: read when its mark is found there, refused otherwise, and what becomes
// of reads of places that are not mapped and of processes that have ended.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>
#include <vector>

#include "transport/shm/foreign_memory.h"

namespace hccl::transport {
namespace {

constexpr uint64_t kMark = 0x1122334455667788;

// A child whose memory is that of this process at its start.
class Child {
 public:
  Child() : pid_(::fork()) {
    while (pid_ == 0) ::pause();
  }
  ~Child() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(ForeignMemory, ReadsAnotherProcess) {
  uint64_t mark = kMark;
  std::vector<uint32_t> numbers(300'001);
  std::iota(numbers.begin(), numbers.end(), 7U);
  const std::vector<uint32_t> wanted = numbers;
  Child child;
  numbers.assign(numbers.size(), 0);  // here, not there
  const ForeignMemory memory =
      ForeignMemory::of(child.pid(), reinterpret_cast<uint64_t>(&mark), kMark);
  ASSERT_TRUE(memory.isReadable());
  std::vector<uint32_t> found(numbers.size());
  EXPECT_EQ(memory.read(found.data(), reinterpret_cast<uint64_t>(numbers.data()),
                        found.size() * sizeof(uint32_t)),
            0);
  EXPECT_EQ(found, wanted);
  child.end();
  EXPECT_EQ(memory.read(found.data(), reinterpret_cast<uint64_t>(numbers.data()), 4), ESRCH);
}

TEST(ForeignMemory, IsRefusedWithoutTheMark) {
  uint64_t mark = kMark + 1;
  Child child;
  const auto address = reinterpret_cast<uint64_t>(&mark);
  EXPECT_FALSE(ForeignMemory::of(child.pid(), address, kMark).isReadable());
  EXPECT_FALSE(ForeignMemory::of(child.pid(), 8, kMark).isReadable());
  EXPECT_FALSE(ForeignMemory::of(0, address, kMark + 1).isReadable());
  uint64_t found = 0;
  EXPECT_EQ(ForeignMemory().read(&found, address, sizeof found), ENOTSUP);
}

TEST(ForeignMemory, EndsWhereNothingIsMapped) {
  uint64_t mark = kMark;
  constexpr size_t kPage = 4096;
  auto* pages = static_cast<std::byte*>(
      ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(::munmap(pages + kPage, kPage), 0);
  Child child;
  const ForeignMemory memory =
      ForeignMemory::of(child.pid(), reinterpret_cast<uint64_t>(&mark), kMark);
  std::vector<std::byte> found(2 * kPage);
  EXPECT_EQ(memory.read(found.data(), reinterpret_cast<uint64_t>(pages), kPage), 0);
  EXPECT_EQ(memory.read(found.data(), reinterpret_cast<uint64_t>(pages), 2 * kPage), EFAULT);
  ::munmap(pages, kPage);
}

}  // namespace
}  // namespace hccl::transport
