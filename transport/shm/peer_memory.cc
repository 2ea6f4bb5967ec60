#include "transport/shm/peer_memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "src/runtime/arena.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace hccl::transport {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPopulateBatch = 2 << 20;

// Objects that live as long as somebody uses them, found again by key.
template <typename Key, typename T>
class Cache {
 public:
  template <typename Make>
  Result<std::shared_ptr<T>> get(const Key& key, Make make) {
    std::lock_guard lock(mutex_);
    for (auto it = known_.begin(); it != known_.end();) {
      it = it->second.expired() && it->first != key ? known_.erase(it) : std::next(it);
    }
    auto& slot = known_[key];
    if (auto alive = slot.lock()) return alive;
    Result<std::shared_ptr<T>> made = make();
    if (made.isOk()) slot = *made;
    return made;
  }
  size_t count() {
    std::lock_guard lock(mutex_);
    return static_cast<size_t>(std::count_if(
        known_.begin(), known_.end(), [](const auto& entry) { return !entry.second.expired(); }));
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<T>> known_;
};

auto& doorbells() {
  static auto* cache = new Cache<std::string, PeerDoorbell>;
  return *cache;
}
auto& memories() {
  static auto* cache = new Cache<std::pair<std::string, int32_t>, PeerMemory>;
  return *cache;
}

Status checkSize(int fd, uint64_t size) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    return Status(HCCL_E_SYSCALL,
                  fmt::format("fstat of a passed descriptor: {}", std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) < size) {
    return Status(
        HCCL_E_MEMORY,
        fmt::format("a passed descriptor has {} bytes, not the {} promised", info.st_size, size));
  }
  return Status();
}

}  // namespace

Result<std::shared_ptr<PeerDoorbell>> PeerDoorbell::of(const std::string& process, UniqueFd page,
                                                       UniqueFd event) {
  return doorbells().get(process, [&]() -> Result<std::shared_ptr<PeerDoorbell>> {
    HCCL_RETURN_IF_ERROR(checkSize(page.get(), sizeof(uint32_t)));
    auto made = std::make_shared<PeerDoorbell>();
    HCCL_ASSIGN_OR_RETURN(made->page_, Mapping::create(kPage, PROT_READ, MAP_SHARED, page.get()));
    made->sleepers_ = static_cast<const std::atomic<uint32_t>*>(made->page_.data());
    made->event_ = GuardedFd(std::move(event));
    // A ring never waits, whatever the peer made of its counter.
    ::fcntl(made->event_.get(), F_SETFL, O_NONBLOCK);
    ::madvise(made->page_.data(), made->page_.size(), MADV_DONTFORK);
    return made;
  });
}

void PeerDoorbell::ring() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (sleepers_->load(std::memory_order_relaxed) == 0) return;
  const uint64_t one = 1;
  (void)!::write(event_.get(), &one, sizeof one);
}

Result<std::shared_ptr<PeerMemory>> PeerMemory::of(const std::string& process, int32_t device,
                                                   uint64_t size, UniqueFd arena) {
  return memories().get({process, device}, [&]() -> Result<std::shared_ptr<PeerMemory>> {
    HCCL_RETURN_IF_ERROR(checkSize(arena.get(), size));
    const int seals = ::fcntl(arena.get(), F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
      return Status(HCCL_E_MEMORY, "a passed arena is not sealed against shrinking");
    }
    auto made = std::make_shared<PeerMemory>();
    HCCL_ASSIGN_OR_RETURN(
        made->memory_,
        Mapping::createAligned(size, runtime::Arena::kPeerAlignment, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_NORESERVE, arena.get()));
    // A forked child has no business here, and a core dump of it would hold the peer's memory.
    ::madvise(made->memory_.data(), size, MADV_DONTFORK);
    ::madvise(made->memory_.data(), size, MADV_DONTDUMP);
    const size_t words = (size / kPage + 63) / 64 + 1;
    HCCL_ASSIGN_OR_RETURN(made->bitmap_,
                          Mapping::create(words * 8, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE));
    ::madvise(made->bitmap_.data(), made->bitmap_.size(), MADV_DONTDUMP);
    made->bits_ = static_cast<std::atomic<uint64_t>*>(made->bitmap_.data());
    return made;
  });
}

size_t PeerMemory::mappedCount() {
  return memories().count();
}

std::byte* PeerMemory::resolve(uint64_t offset, size_t bytes) noexcept {
  if (offset > memory_.size() || bytes > memory_.size() - offset) return nullptr;
  if (bytes != 0) {
    const size_t first = offset / kPage;
    const size_t last = (offset + bytes - 1) / kPage;
    if (!populated(first, last)) populate(first * kPage, (last - first + 1) * kPage);
  }
  return memory_.bytes() + offset;
}

namespace {
// The bits of `word` that lie in [first, last] (page numbers).
uint64_t maskOf(size_t word, size_t first, size_t last) {
  uint64_t mask = ~0ULL;
  if (word == first / 64) mask &= ~0ULL << (first % 64);
  if (word == last / 64) mask &= ~0ULL >> (63 - last % 64);
  return mask;
}
}  // namespace

bool PeerMemory::populated(size_t firstPage, size_t lastPage) const noexcept {
  for (size_t word = firstPage / 64; word <= lastPage / 64; ++word) {
    const uint64_t mask = maskOf(word, firstPage, lastPage);
    if ((bits_[word].load(std::memory_order_relaxed) & mask) != mask) return false;
  }
  return true;
}

// Exactly the pages asked for: populating a hole of the memfd would allocate it. When the peer
// gives pages back and reuses the range later the bits are stale, and the next touch faults as
// usual.
void PeerMemory::populate(uint64_t offset, size_t bytes) noexcept {
  const uint64_t end = std::min<uint64_t>(offset + bytes, memory_.size());
  while (offset < end) {
    const uint64_t next = std::min<uint64_t>(end, (offset / kPopulateBatch + 1) * kPopulateBatch);
    const size_t first = offset / kPage;
    const size_t last = (next - 1) / kPage;
    if (!populated(first, last)) {
      ::madvise(memory_.bytes() + offset, next - offset, MADV_POPULATE_WRITE);
      for (size_t word = first / 64; word <= last / 64; ++word) {
        bits_[word].fetch_or(maskOf(word, first, last), std::memory_order_relaxed);
      }
    }
    offset = next;
  }
}

}  // namespace hccl::transport
