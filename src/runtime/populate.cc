#include "src/runtime/populate.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "src/base/clock.h"
#include "src/runtime/memory_probe.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace hccl::runtime {
namespace {

// Other processes allocate too, so the figures are read again for every batch.
constexpr size_t kBatch = 64ULL << 20;
constexpr size_t kSmall = 1ULL << 20;
constexpr uint64_t kProbeLifeNs = 50'000'000;
constexpr size_t kPage = 4096;

// Reading the kernel's files takes about 100 us: small allocations share one reading for a while.
bool isMemoryThere(size_t bytes) {
  static std::mutex mutex;
  static uint64_t readAtNs = 0;
  static uint64_t spare = 0;
  std::lock_guard lock(mutex);
  const uint64_t now = monotonicNs();
  if (bytes > kSmall || readAtNs == 0 || now - readAtNs > kProbeLifeNs || spare < bytes) {
    const MemoryState state = memoryState();
    const uint64_t reserve = memoryReserve(state);
    spare = state.available > reserve ? state.available - reserve : 0;
    readAtNs = now;
  }
  if (spare < bytes) return false;
  spare -= bytes;
  return true;
}

bool populateBatch(int fd, uint64_t offset, std::byte* address, size_t bytes) {
  static std::atomic<bool> hasPopulate{true};
  if (hasPopulate.load(std::memory_order_relaxed)) {
    for (;;) {
      if (::madvise(address, bytes, MADV_POPULATE_WRITE) == 0) return true;
      if (errno == EINTR || errno == EAGAIN) continue;
      if (errno != EINVAL) return false;
      hasPopulate.store(false, std::memory_order_relaxed);  // kernels before 5.14
      break;
    }
  }
  // The kernel reserves the pages or says no, so that touching them cannot end in SIGBUS.
  if (::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) return false;
  for (size_t at = 0; at < bytes; at += kPage) {
    auto* word = reinterpret_cast<volatile char*>(address + at);
    *word = 0;
  }
  return true;
}

}  // namespace

bool populate(int fd, uint64_t offset, void* address, size_t bytes) {
  auto* start = static_cast<std::byte*>(address);
  {
    // All of it at first: do not fill the memory only to give up at its end.
    const MemoryState state = bytes > kBatch ? memoryState() : MemoryState{};
    if (bytes > kBatch && state.available < bytes + memoryReserve(state)) return false;
  }
  for (size_t at = 0; at < bytes; at += kBatch) {
    const size_t batch = std::min(kBatch, bytes - at);
    if (!isMemoryThere(batch) || !populateBatch(fd, offset + at, start + at, batch)) return false;
  }
  return true;
}

void punch(int fd, uint64_t offset, size_t bytes) {
  ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
}

}  // namespace hccl::runtime
