// RegionCache: memory that is registered with one device, for as long as it stays where it is. Only
// memory whose end the library hears of may be asked for (src/runtime/memory_watch.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "src/runtime/memory_watch.h"
#include "transport/rdma/handles.h"

namespace hccl::transport::rdma {

class RegionCache final : public runtime::MemoryWatcher {
 public:
  // At most `most` regions; those longest unused go first.
  RegionCache(VerbsApi* verbs, ibv_pd* pd, std::string device, size_t most = 256);
  ~RegionCache() override;
  RegionCache(const RegionCache&) = delete;
  RegionCache& operator=(const RegionCache&) = delete;

  // The registration of exactly this range, which stays valid while it is held. nullptr when there
  // can be none; the first time a log line tells why. Thread safe.
  std::shared_ptr<const MemoryRegion> get(const runtime::MemoryRange& range);

  void onMemoryLeaves(const runtime::MemoryRange& range) noexcept override;
  size_t size() const;  // registrations

 private:
  using Key = std::pair<std::byte*, size_t>;
  struct Entry {
    std::shared_ptr<const MemoryRegion> region;  // nullptr: refused
    uint64_t used = 0;                           // when
  };
  using Entries = std::map<Key, Entry>;
  bool dropOldest(bool registered);
  std::shared_ptr<const MemoryRegion> make(const runtime::MemoryRange& range);

  VerbsApi* verbs_;
  ibv_pd* pd_;
  const std::string device_;
  const size_t most_;
  mutable std::mutex mutex_;
  Entries entries_;  // guarded
  uint64_t now_ = 0;
  bool told_ = false;
};

}  // namespace hccl::transport::rdma
