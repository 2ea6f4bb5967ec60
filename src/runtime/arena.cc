#include "src/runtime/arena.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>

#include "src/base/mapping.h"
#include "src/base/system_error.h"
#include "src/fault/ei_errors.h"
#include "src/runtime/alias_table.h"
#include "src/runtime/arena_space.h"
#include "src/runtime/engine.h"
#include "src/runtime/populate.h"
#include "src/runtime/process_state.h"

namespace hccl::runtime {
namespace {

constexpr int32_t kMaxDevices = 1024;
constexpr size_t kPage = 4096;
constexpr size_t kHugePage = 2ULL << 20;
constexpr uint64_t kGiB = 1ULL << 30;
constexpr uint64_t kLargestAlignment = kGiB;
// Caches that guess a line's way from address bits 12 to 27 take the same place in two arenas for
// the same place. So devices begin at places of their own, and peers map arenas at multiples of
// kPeerAlignment. Steps of a huge page.
constexpr uint64_t kColorStep = 2ULL << 20;
constexpr uint64_t kColors = 64;
constexpr uint64_t kLargestArena = 1024 * kGiB;  // peers of a server map all of them
constexpr uint64_t kLargestCache = 256ULL << 20;

uint64_t colorBytes(int32_t device, uint64_t arenaBytes) {
  const uint64_t color = static_cast<uint64_t>(device) % kColors * kColorStep;
  return arenaBytes >= kGiB ? color : 0;
}

std::mutex makeMutex;
std::array<std::atomic<Arena*>, kMaxDevices> byDevice;
// In the order of their making, for find().
std::array<std::atomic<Arena*>, kMaxDevices> made;
std::atomic<uint32_t> madeCount{0};

uint64_t hostMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Below the limit on file sizes, whose violation would end the program by a signal, and a small
// part of the limit on address space, which the arenas of all peers must fit into.
uint64_t arenaSize() {
  constexpr uint64_t kShareOfAddressSpace = 8;
  uint64_t size = std::min(kLargestArena, (hostMemory() + kGiB - 1) / kGiB * kGiB);
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    size = std::min<uint64_t>(size, limit.rlim_cur);
  }
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    size = std::min<uint64_t>(size, limit.rlim_cur / kShareOfAddressSpace);
  }
  return size / kPage * kPage;
}

Status outOfMemory(size_t bytes) {
  return eiError(Ei::kDeviceMemory, HCCL_E_OOM, {std::to_string(bytes)});
}

}  // namespace

struct Arena::Impl {
  explicit Impl(uint64_t size) : space(size) {}

  struct Allocation {
    uint64_t bytes = 0;
    uint32_t exposures = 0;
    bool released = false;  // goes back when the last exposure ends
  };

  std::mutex mutex;
  ArenaSpace space;
  std::map<uint64_t, Allocation> live;  // by offset
  uint64_t cacheLimit = 0;

  // The first bytes are never given away.
  void leaveOut(uint64_t bytes) {
    if (bytes != 0) (void)space.take(bytes, 1);
  }

  // The allocation that holds the offset; end() when there is none.
  std::map<uint64_t, Allocation>::iterator holding(uint64_t offset) {
    auto it = live.upper_bound(offset);
    if (it == live.begin()) return live.end();
    --it;
    return offset - it->first < it->second.bytes ? it : live.end();
  }
};

struct ArenaBuilder {
  static Result<Arena*> make(int32_t device) {
    const uint64_t size = arenaSize();
    if (size == 0) return outOfMemory(kPage);
    const int fd = ::memfd_create(fmt::format("hccl-device-{}", device).c_str(),
                                  MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return systemCallError("memfd_create", errno);
    if (::ftruncate(fd, static_cast<off_t>(size)) != 0 ||
        ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
      Status status = systemCallError("sizing the device memory", errno);
      ::close(fd);
      return status;
    }
    // Offsets are aligned as addresses are.
    Result<Mapping> mapping = Mapping::createAligned(
        size, kLargestAlignment, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd);
    if (!mapping) {
      ::close(fd);
      return mapping.status();
    }
    void* const base = mapping->release();  // as long as the process lives
    ::madvise(base, size, MADV_DONTDUMP);
    ::madvise(base, size, MADV_DONTFORK);
    ::madvise(base, size, MADV_HUGEPAGE);  // a wish
    closeInForkedChild(fd);
    auto* arena = new Arena;  // lives until the process ends
    arena->fd_ = fd;
    arena->base_ = static_cast<std::byte*>(base);
    arena->size_ = size;
    arena->device_ = device;
    arena->impl_ = new Arena::Impl(size);
    arena->impl_->leaveOut(colorBytes(device, size));
    arena->impl_->cacheLimit = std::min(kLargestCache, hostMemory() / 16);
    return arena;
  }
};

Result<Arena*> Arena::ofDevice(int32_t device) {
  if (device < 0 || device >= kMaxDevices) {
    return Status(HCCL_E_PARA, fmt::format("there is no device {}", device));
  }
  const auto index = static_cast<size_t>(device);
  if (Arena* arena = byDevice[index].load(std::memory_order_acquire)) return arena;
  HCCL_RETURN_IF_ERROR(usableStatus());
  std::lock_guard lock(makeMutex);
  if (Arena* arena = byDevice[index].load(std::memory_order_acquire)) return arena;
  HCCL_ASSIGN_OR_RETURN(Arena * arena, ArenaBuilder::make(device));
  made[madeCount.load()].store(arena, std::memory_order_release);
  madeCount.fetch_add(1, std::memory_order_release);
  byDevice[index].store(arena, std::memory_order_release);
  return arena;
}

Arena* Arena::find(const void* address, size_t bytes, uint64_t* offset) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const uint32_t count = madeCount.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    Arena* arena = made[i].load(std::memory_order_acquire);
    const auto base = reinterpret_cast<uintptr_t>(arena->base_);
    if (at < base || at - base >= arena->size_) continue;
    if (bytes > arena->size_ - (at - base)) return nullptr;
    if (offset != nullptr) *offset = at - base;
    return arena;
  }
  return findAlias(at, bytes, offset);
}

Result<void*> Arena::allocate(size_t bytes, size_t alignment) {
  HCCL_RETURN_IF_ERROR(usableStatus());
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kLargestAlignment) {
    return Status(HCCL_E_PARA,
                  fmt::format("alignment {} is not a power of two up to 1 GiB", alignment));
  }
  if (bytes > size_) return outOfMemory(bytes);
  const size_t size = (std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  // Large ranges begin at huge pages, so that the kernel can use them.
  const size_t aligned = std::max({alignment, kPage, size >= kHugePage ? kHugePage : kPage});
  std::unique_lock lock(impl_->mutex);
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (auto range = impl_->space.take(size, aligned); range.has_value()) {
      lock.unlock();  // the range is ours already
      bool there = true;
      if (range->populated) {
        std::memset(base_ + range->offset, 0, size);
      } else {
        there = populate(fd_, range->offset, base_ + range->offset, size);
        if (!there) punch(fd_, range->offset, size);
      }
      lock.lock();
      if (there) {
        impl_->live[range->offset] = {size, 0, false};
        return static_cast<void*>(base_ + range->offset);
      }
      impl_->space.give(*range);
    }
    // Free what is merely kept for reuse, and try once more.
    while (auto cached = impl_->space.evict()) punch(fd_, cached->offset, cached->bytes);
  }
  return outOfMemory(bytes);
}

void Arena::giveBack(uint64_t offset, uint64_t bytes) {
  memoryLeaves({base_ + offset, bytes});
  impl_->space.give({offset, bytes, true});
  while (impl_->space.cachedBytes() > impl_->cacheLimit) {
    const auto range = impl_->space.evict();
    if (!range.has_value()) break;
    punch(fd_, range->offset, range->bytes);
  }
}

Status Arena::release(void* address) {
  HCCL_RETURN_IF_ERROR(usableStatus());
  const auto offset = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address) -
                                            reinterpret_cast<uintptr_t>(base_));
  std::lock_guard lock(impl_->mutex);
  const auto it = impl_->live.find(offset);
  if (it == impl_->live.end() || it->second.released) {
    return Status(HCCL_E_PARA, "the address is not the start of an allocation");
  }
  if (it->second.exposures != 0) {
    it->second.released = true;
    return Status::ok();
  }
  const uint64_t bytes = it->second.bytes;
  impl_->live.erase(it);
  giveBack(offset, bytes);
  return Status::ok();
}

void Arena::expose(uint64_t offset) {
  std::lock_guard lock(impl_->mutex);
  if (const auto it = impl_->holding(offset); it != impl_->live.end()) ++it->second.exposures;
}

std::optional<MemoryRange> Arena::exposeAll(uint64_t offset, uint64_t bytes) {
  std::lock_guard lock(impl_->mutex);
  const auto it = impl_->holding(offset);
  if (it == impl_->live.end() || it->second.bytes - (offset - it->first) < bytes) {
    return std::nullopt;
  }
  ++it->second.exposures;
  return MemoryRange{base_ + it->first, it->second.bytes};
}

void Arena::unexpose(uint64_t offset) {
  std::lock_guard lock(impl_->mutex);
  const auto it = impl_->holding(offset);
  if (it == impl_->live.end() || it->second.exposures == 0) return;
  if (--it->second.exposures != 0 || !it->second.released) return;
  const uint64_t start = it->first;
  const uint64_t bytes = it->second.bytes;
  impl_->live.erase(it);
  giveBack(start, bytes);
}

uint64_t Arena::liveBytes() const {
  std::lock_guard lock(impl_->mutex);
  uint64_t total = 0;
  for (const auto& [offset, allocation] : impl_->live) total += allocation.bytes;
  return total;
}

uint64_t Arena::cachedBytes() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->space.cachedBytes();
}

}  // namespace hccl::runtime
