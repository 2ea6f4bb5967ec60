#include "transport/rdma/region_cache.h"

#include <cerrno>
#include <cstring>

#include "src/base/log.h"
#include "transport/rdma/lock_limit.h"

namespace hccl::transport::rdma {

RegionCache::RegionCache(VerbsApi* verbs, ibv_pd* pd, std::string device, size_t most)
    : verbs_(verbs), pd_(pd), device_(std::move(device)), most_(most) {
  runtime::addMemoryWatcher(this);
}

RegionCache::~RegionCache() {
  runtime::removeMemoryWatcher(this);
}

std::shared_ptr<const MemoryRegion> RegionCache::get(const runtime::MemoryRange& range) {
  std::lock_guard lock(mutex_);
  const Key key{range.begin, range.bytes};
  auto known = entries_.find(key);
  if (known == entries_.end()) {
    while (entries_.size() >= most_ && dropOldest(false)) {
    }
    if (entries_.size() >= most_) return nullptr;
    known = entries_.emplace(key, Entry{make(range)}).first;
  }
  known->second.used = ++now_;
  return known->second.region;
}

// Whatever is not in use makes room for what is.
std::shared_ptr<const MemoryRegion> RegionCache::make(const runtime::MemoryRange& range) {
  for (;;) {
    MemoryRegion region(verbs_, verbs_->regMr(pd_, range.begin, range.bytes,
                                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
    if (region) return std::make_shared<const MemoryRegion>(std::move(region));
    const int error = errno;
    if (dropOldest(true)) continue;
    if (!std::exchange(told_, true)) {
      HCCL_RUN_WARNING(
          "{} bytes cannot be registered with {}: {}; the limit of locked memory (RLIMIT_MEMLOCK, "
          "ulimit -l) is {}. Messages from and to memory that is not registered are copied",
          range.bytes, device_, std::strerror(error), lockLimit());
    }
    return nullptr;
  }
}

// False when all are in use. `registered`: refusals do not count.
bool RegionCache::dropOldest(bool registered) {
  auto oldest = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    const long users = it->second.region.use_count();
    if (users > 1 || (registered && users == 0)) continue;
    if (oldest == entries_.end() || it->second.used < oldest->second.used) oldest = it;
  }
  if (oldest == entries_.end()) return false;
  entries_.erase(oldest);
  return true;
}

void RegionCache::onMemoryLeaves(const runtime::MemoryRange& range) noexcept {
  std::lock_guard lock(mutex_);
  const size_t dropped = std::erase_if(entries_, [&](const auto& entry) {
    return range.overlaps({entry.first.first, entry.first.second});
  });
  // There may be room now for what was refused.
  if (dropped != 0) std::erase_if(entries_, [](const auto& e) { return !e.second.region; });
}

size_t RegionCache::size() const {
  std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& [key, entry] : entries_) count += entry.region ? 1 : 0;
  return count;
}

}  // namespace hccl::transport::rdma
