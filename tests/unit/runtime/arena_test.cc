#include "src/runtime/arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "src/runtime/arena_space.h"
#include "src/runtime/memory_probe.h"

namespace hccl::runtime {
namespace {

constexpr uint64_t kMiB = 1 << 20;

uint64_t pagesOf(Arena* arena) {
  struct stat info {};
  fstat(arena->fd(), &info);
  return static_cast<uint64_t>(info.st_blocks) * 512;
}

TEST(ArenaSpace, SplitsAndJoins) {
  ArenaSpace space(1 << 20);
  const auto a = space.take(4096, 4096);
  const auto b = space.take(8192, 8192);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->offset, 0u);
  EXPECT_EQ(b->offset % 8192, 0u);
  EXPECT_EQ(space.freeBytes(), (1u << 20) - 12288);
  space.give(*a);
  space.give(*b);
  EXPECT_EQ(space.fragments(), 1u);
  EXPECT_EQ(space.freeBytes(), 1u << 20);
  EXPECT_FALSE(space.take((1 << 20) + 4096, 4096).has_value());
}

TEST(ArenaSpace, PrefersTheSmallestPopulatedRange) {
  ArenaSpace space(1 << 20);
  auto a = *space.take(65536, 4096);
  auto gap = *space.take(4096, 4096);
  auto b = *space.take(16384, 4096);
  auto gap2 = *space.take(4096, 4096);
  a.populated = b.populated = true;
  space.give(a);
  space.give(b);
  EXPECT_EQ(space.cachedBytes(), 65536u + 16384u);
  const auto again = space.take(8192, 4096);
  EXPECT_EQ(again->offset, b.offset);
  EXPECT_TRUE(again->populated);
  const auto evicted = space.evict();
  EXPECT_EQ(evicted->offset, a.offset);
  EXPECT_EQ(space.cachedBytes(), 8192u);
  (void)gap;
  (void)gap2;
}

TEST(ArenaSpace, RandomUseNeverOverlaps) {
  ArenaSpace space(1 << 24);
  std::mt19937 random(7);
  std::vector<ArenaSpace::Range> live;
  std::vector<int> owner((1 << 24) / 4096, 0);
  for (int i = 0; i < 4000; ++i) {
    if (live.empty() || random() % 3 != 0) {
      const uint64_t bytes = (random() % 32 + 1) * 4096;
      const auto range = space.take(bytes, 4096ULL << (random() % 4));
      if (!range) continue;
      for (uint64_t p = range->offset / 4096; p < (range->offset + bytes) / 4096; ++p) {
        ASSERT_EQ(owner[p]++, 0);
      }
      live.push_back(*range);
    } else {
      const size_t at = random() % live.size();
      auto range = live[at];
      live.erase(live.begin() + static_cast<long>(at));
      for (uint64_t p = range.offset / 4096; p < (range.offset + range.bytes) / 4096; ++p) {
        --owner[p];
      }
      range.populated = random() % 2 == 0;
      space.give(range);
    }
  }
  for (auto& range : live) space.give(range);
  while (space.evict()) {
  }
  EXPECT_EQ(space.fragments(), 1u);
  EXPECT_EQ(space.freeBytes(), 1u << 24);
}

TEST(Arena, IsASealedSparseFileWithTheSizeOfItsMapping) {
  Arena* arena = *Arena::ofDevice(0);
  struct stat info {};
  ASSERT_EQ(fstat(arena->fd(), &info), 0);
  EXPECT_EQ(static_cast<size_t>(info.st_size), arena->size());
  EXPECT_NE(fcntl(arena->fd(), F_GET_SEALS) & F_SEAL_SHRINK, 0);
  EXPECT_NE(fcntl(arena->fd(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(ftruncate(arena->fd(), 4096), 0);
  EXPECT_EQ(*Arena::ofDevice(0), arena);
  EXPECT_NE(*Arena::ofDevice(1), arena);
  EXPECT_FALSE(Arena::ofDevice(-1).isOk());
}

TEST(Arena, GivesZeroedAlignedMemoryThatAnotherMappingSees) {
  Arena* arena = *Arena::ofDevice(0);
  for (const size_t alignment : {size_t{512}, size_t{4096}, size_t{65536}, size_t{4 * kMiB}}) {
    auto memory = arena->allocate(10000, alignment);
    ASSERT_TRUE(memory.isOk());
    auto* bytes = static_cast<unsigned char*>(*memory);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % std::max<size_t>(alignment, 4096), 0u);
    for (int i = 0; i < 10000; ++i) ASSERT_EQ(bytes[i], 0);
    std::memset(bytes, 0x5a, 10000);
    uint64_t offset = 0;
    ASSERT_EQ(Arena::find(bytes + 5000, 5000, &offset), arena);
    auto* other = static_cast<unsigned char*>(
        mmap(nullptr, arena->size(), PROT_READ, MAP_SHARED | MAP_NORESERVE, arena->fd(), 0));
    ASSERT_NE(other, MAP_FAILED);
    EXPECT_EQ(other[offset], 0x5a);
    munmap(other, arena->size());
    EXPECT_TRUE(arena->release(bytes).isOk());
    EXPECT_EQ(arena->release(bytes).code(), HCCL_E_PARA);
  }
  EXPECT_EQ(arena->allocate(1, 3).status().code(), HCCL_E_PARA);
}

TEST(Arena, FindsOnlyItsOwnRanges) {
  Arena* arena = *Arena::ofDevice(0);
  int local = 0;
  uint64_t offset = 0;
  EXPECT_EQ(Arena::find(&local, sizeof(local), &offset), nullptr);
  EXPECT_EQ(Arena::find(nullptr, 8, &offset), nullptr);
  EXPECT_EQ(Arena::find(arena->base() + 100, 8, &offset), arena);
  EXPECT_EQ(offset, 100u);
  EXPECT_EQ(Arena::find(arena->base() + arena->size() - 8, 8, &offset), arena);
  EXPECT_EQ(Arena::find(arena->base() + arena->size() - 8, 9, &offset), nullptr);
  EXPECT_EQ(Arena::find(arena->base(), SIZE_MAX, &offset), nullptr);
}

TEST(Arena, ImpossibleRequestsFailWithEi0011AndHarmNothing) {
  Arena* arena = *Arena::ofDevice(0);
  const uint64_t before = arena->liveBytes();
  for (const size_t bytes : {static_cast<size_t>(memoryState().available) + (size_t{64} << 20),
                             arena->size(), arena->size() + 1, SIZE_MAX - 100, SIZE_MAX}) {
    const auto memory = arena->allocate(bytes);
    ASSERT_FALSE(memory.isOk());
    EXPECT_EQ(memory.status().code(), HCCL_E_OOM);
    EXPECT_EQ(memory.status().eiCode(), 11);
    EXPECT_NE(memory.status().text().find(std::to_string(bytes)), std::string::npos);
  }
  EXPECT_EQ(arena->liveBytes(), before);
  auto small = arena->allocate(4096);
  ASSERT_TRUE(small.isOk());
  EXPECT_TRUE(arena->release(*small).isOk());
}

TEST(Arena, ReusesFreedPagesZeroedAndKeepsFewOfThem) {
  Arena* arena = *Arena::ofDevice(2);
  auto first = *arena->allocate(kMiB);
  std::memset(first, 1, kMiB);
  ASSERT_TRUE(arena->release(first).isOk());
  EXPECT_EQ(arena->cachedBytes(), kMiB);
  auto second = *arena->allocate(kMiB);
  EXPECT_EQ(second, first);
  EXPECT_EQ(static_cast<char*>(second)[12345], 0);
  ASSERT_TRUE(arena->release(second).isOk());
  auto large = *arena->allocate(400 * kMiB);
  EXPECT_GE(pagesOf(arena), 400 * kMiB);
  ASSERT_TRUE(arena->release(large).isOk());
  EXPECT_LE(arena->cachedBytes(), 256 * kMiB);
  EXPECT_LE(pagesOf(arena), 258 * kMiB);
}

TEST(Arena, ExposedRangesAreNotReused) {
  Arena* arena = *Arena::ofDevice(3);
  auto* memory = static_cast<char*>(*arena->allocate(2 * kMiB));
  uint64_t offset = 0;
  Arena::find(memory, 1, &offset);
  arena->expose(offset + 4096);
  arena->expose(offset);
  std::memset(memory, 7, 2 * kMiB);
  EXPECT_TRUE(arena->release(memory).isOk());
  EXPECT_EQ(arena->release(memory).code(), HCCL_E_PARA);
  auto* other = static_cast<char*>(*arena->allocate(2 * kMiB));
  EXPECT_NE(other, memory);
  EXPECT_EQ(memory[4096], 7);
  arena->unexpose(offset);
  EXPECT_EQ(arena->liveBytes(), 4 * kMiB);
  arena->unexpose(offset + 4096);
  EXPECT_EQ(arena->liveBytes(), 2 * kMiB);
  EXPECT_TRUE(arena->release(other).isOk());
}

TEST(Arena, ConcurrentUseKeepsRangesApart) {
  Arena* arena = *Arena::ofDevice(4);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 150; ++i) {
        const size_t bytes = random() % 200000 + 1;
        auto memory = arena->allocate(bytes);
        if (!memory.isOk()) {
          failures.fetch_add(1);
          continue;
        }
        auto* p = static_cast<unsigned char*>(*memory);
        std::memset(p, t + 1, bytes);
        uint64_t offset = 0;
        if (Arena::find(p, bytes, &offset) != arena) failures.fetch_add(1);
        if (p[0] != t + 1 || p[bytes - 1] != t + 1) failures.fetch_add(1);
        if (!arena->release(p).isOk()) failures.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
  EXPECT_EQ(arena->liveBytes(), 0u);
}

TEST(Arena, IsExcludedFromCoreDumpsAndFork) {
  Arena* arena = *Arena::ofDevice(0);
  auto memory = *arena->allocate(4096);
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  bool seen = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find("hccl-device-0") != std::string::npos) inside = true;
    if (inside && line.rfind("VmFlags:", 0) == 0) {
      EXPECT_NE(line.find(" dd"), std::string::npos) << line;
      EXPECT_NE(line.find(" dc"), std::string::npos) << line;
      seen = true;
      inside = false;
    }
  }
  EXPECT_TRUE(seen);
  EXPECT_TRUE(arena->release(memory).isOk());
}

TEST(MemoryProbe, TakesTheSmallestLimit) {
  char folder[] = "/tmp/hccl-probe-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string root = folder;
  const std::string group = root + "/sys/fs/cgroup/job";
  ASSERT_EQ(std::system(("mkdir -p " + root + "/proc/self " + group).c_str()), 0);
  std::ofstream(root + "/proc/meminfo") << "MemTotal: 1000000 kB\nMemAvailable: 800000 kB\n";
  std::ofstream(root + "/proc/self/cgroup") << "0::/job\n";
  EXPECT_EQ(memoryState(root).available, 800000u * 1024);
  std::ofstream(group + "/memory.max") << "104857600\n";
  std::ofstream(group + "/memory.current") << "52428800\n";
  std::ofstream(group + "/memory.stat") << "anon 5\ninactive_file 10485760\n";
  EXPECT_EQ(memoryState(root).total, 104857600u);
  EXPECT_EQ(memoryState(root).available, 104857600u - 41943040u);
  std::ofstream(group + "/memory.max") << "max\n";
  EXPECT_EQ(memoryState(root).total, 1000000u * 1024);
  EXPECT_EQ(std::system(("rm -r " + root).c_str()), 0);
}

}  // namespace
}  // namespace hccl::runtime
