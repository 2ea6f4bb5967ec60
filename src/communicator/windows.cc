#include "src/communicator/windows.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "src/communicator/memory_exchange.h"
#include "src/fault/ei_errors.h"
#include "src/runtime/arena.h"
#include "src/runtime/memory_watch.h"

namespace hccl {
namespace {

// Keeps the pages of arena memory in place while peers may use them, freed or not. Of other memory
// the program has promised that it stays: links may register it with their devices.
class Exposure {
 public:
  Exposure(void* address, uint64_t bytes)
      : range_{static_cast<std::byte*>(address), bytes},
        arena_(runtime::Arena::find(address, bytes, &offset_)) {
    if (arena_ != nullptr) {
      arena_->expose(offset_);
    } else {
      runtime::keepMemory(range_);
    }
  }
  ~Exposure() {
    if (arena_ != nullptr) {
      arena_->unexpose(offset_);
    } else {
      runtime::unkeepMemory(range_);
    }
  }
  Exposure(const Exposure&) = delete;
  Exposure& operator=(const Exposure&) = delete;

 private:
  runtime::MemoryRange range_;
  uint64_t offset_ = 0;
  runtime::Arena* arena_;
};

struct Window {
  std::weak_ptr<Communicator> communicator;
  std::unique_ptr<Exposure> exposure;
  const Communicator* owner = nullptr;
  std::byte* address = nullptr;
  uint64_t bytes = 0;
  std::vector<MemoryPart> parts;  // by rank
};

struct Registered {
  std::unique_ptr<Exposure> exposure;
  const Communicator* owner = nullptr;
  void* address = nullptr;
  uint64_t bytes = 0;
};

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
  bool holds(const Range& other) const { return begin <= other.begin && other.end <= end; }
};

struct Ranges {
  std::vector<Range> announced;
  std::vector<Range> active;
};

// Handles are numbers, never used twice, so that a freed one is recognised.
struct Memory {
  std::mutex mutex;
  uint64_t nextHandle = 1;
  std::map<void*, Window> windows;
  std::map<void*, Registered> registered;
  std::map<const Communicator*, Ranges> ranges;

  void* newHandle() {
    return reinterpret_cast<void*>(0x570000000000ULL + nextHandle++);  // NOLINT
  }
};
Memory& memory() {
  static Memory* all = new Memory;  // lives until the process ends
  return *all;
}

Status unknown(const char* op, const char* what) {
  return argumentError(HCCL_E_PARA, op, "an unknown handle", what, "a handle that is registered");
}

Range rangeOf(const void* base, size_t bytes) {
  const auto begin = reinterpret_cast<uint64_t>(base);
  return {begin, begin + bytes};
}

}  // namespace

Result<HcclCommSymWindow> registerWindow(const CommunicatorPtr& communicator, void* address,
                                         uint64_t bytes) {
  constexpr const char* kOp = "HcclCommSymWinRegister";
  const uint64_t limit = communicator->settings().symWinMaxGb;
  if (limit < (1ULL << 34) && bytes > limit << 30) {
    return argumentError(HCCL_E_PARA, kOp, std::to_string(bytes), "size",
                         fmt::format("at most {} GB (hcclSymWinMaxMemSizePerRank)", limit));
  }
  Window window;
  window.communicator = communicator;
  window.owner = communicator.get();
  window.address = static_cast<std::byte*>(address);
  window.bytes = bytes;
  window.exposure = std::make_unique<Exposure>(address, bytes);
  HCCL_ASSIGN_OR_RETURN(window.parts,
                        gatherParts(*communicator, describePart(*communicator, address, bytes)));
  for (uint32_t rank = 0; rank < window.parts.size(); ++rank) {
    if (window.parts[rank].bytes == bytes) continue;
    return argumentError(HCCL_E_PARA, kOp, std::to_string(bytes), "size",
                         fmt::format("{} as on rank {}", window.parts[rank].bytes, rank));
  }
  std::lock_guard lock(memory().mutex);
  void* handle = memory().newHandle();
  memory().windows.emplace(handle, std::move(window));
  return handle;
}

Status deregisterWindow(HcclCommSymWindow window) {
  std::lock_guard lock(memory().mutex);
  if (memory().windows.erase(window) == 0) return unknown("HcclCommSymWinDeregister", "winHandle");
  return Status::ok();
}

Result<HcclCommSymWindow> findWindow(const Communicator* communicator, const void* address,
                                     size_t bytes, size_t* offset) {
  const Range wanted = rangeOf(address, bytes);
  std::lock_guard lock(memory().mutex);
  const auto& windows = memory().windows;
  for (auto it = windows.rbegin(); it != windows.rend(); ++it) {
    const Window& window = it->second;
    const Range own = rangeOf(window.address, window.bytes);
    if (window.owner != communicator || !own.holds(wanted)) continue;
    *offset = wanted.begin - own.begin;
    return it->first;
  }
  return argumentError(HCCL_E_NOT_FOUND, "HcclCommSymWinGet", fmt::format("{}", address), "ptr",
                       "memory inside a window of the communicator");
}

Result<void*> windowPeerPointer(HcclCommSymWindow handle, size_t offset, uint32_t peer) {
  constexpr const char* kOp = "HcclSymWinGetPeerPointer";
  CommunicatorPtr communicator;
  MemoryPart part;
  std::byte* own = nullptr;
  {
    std::lock_guard lock(memory().mutex);
    const auto found = memory().windows.find(handle);
    if (found == memory().windows.end()) return unknown(kOp, "winHandle");
    const Window& window = found->second;
    if (offset >= window.bytes) {
      return argumentError(HCCL_E_PARA, kOp, std::to_string(offset), "offset",
                           fmt::format("less than the window's size {}", window.bytes));
    }
    if (peer >= window.parts.size()) {
      return argumentError(HCCL_E_PARA, kOp, std::to_string(peer), "peerRank",
                           fmt::format("less than {}", window.parts.size()));
    }
    communicator = window.communicator.lock();
    part = window.parts[peer];
    own = window.address;
  }
  if (communicator == nullptr) return unknown(kOp, "winHandle");
  if (peer == communicator->rank()) return static_cast<void*>(own + offset);
  HCCL_ASSIGN_OR_RETURN(std::byte* const base, reachPart(*communicator, peer, part));
  return static_cast<void*>(base + offset);
}

Result<void*> registerMemory(const Communicator* communicator, void* address, uint64_t bytes) {
  std::lock_guard lock(memory().mutex);
  void* handle = memory().newHandle();
  memory().registered.emplace(
      handle, Registered{std::make_unique<Exposure>(address, bytes), communicator, address, bytes});
  return handle;
}

Status deregisterMemory(const Communicator* communicator, void* handle) {
  std::lock_guard lock(memory().mutex);
  const auto found = memory().registered.find(handle);
  if (found == memory().registered.end() || found->second.owner != communicator) {
    return unknown("HcclCommDeregister", "handle");
  }
  memory().registered.erase(found);
  return Status::ok();
}

Status exchangeMemory(const CommunicatorPtr& communicator, void* handle,
                      std::span<const uint32_t> peers) {
  MemoryPart mine;
  {
    std::lock_guard lock(memory().mutex);
    const auto found = memory().registered.find(handle);
    if (found == memory().registered.end() || found->second.owner != communicator.get()) {
      return unknown("HcclCommExchangeMem", "windowHandle");
    }
    mine = describePart(*communicator, found->second.address, found->second.bytes);
  }
  // Peers' parts are not kept: on a host every operation finds registered memory by itself.
  return swapParts(*communicator, mine, peers).status();
}

Status setMemoryRange(const Communicator* communicator, void* base, size_t bytes) {
  const Range range = rangeOf(base, bytes);
  std::lock_guard lock(memory().mutex);
  std::vector<Range>& all = memory().ranges[communicator].announced;
  for (const Range& other : all) {
    if (!other.overlaps(range)) continue;
    return argumentError(HCCL_E_PARA, "HcclCommSetMemoryRange", fmt::format("{}", base),
                         "baseVirPtr", "a range that overlaps no range of the communicator");
  }
  all.push_back(range);
  return Status::ok();
}

Status unsetMemoryRange(const Communicator* communicator, void* base) {
  constexpr const char* kOp = "HcclCommUnsetMemoryRange";
  const uint64_t begin = rangeOf(base, 0).begin;
  std::lock_guard lock(memory().mutex);
  Ranges& ranges = memory().ranges[communicator];
  const auto found = std::find_if(ranges.announced.begin(), ranges.announced.end(),
                                  [&](const Range& range) { return range.begin == begin; });
  if (found == ranges.announced.end()) {
    return argumentError(HCCL_E_PARA, kOp, fmt::format("{}", base), "baseVirPtr",
                         "the start of a range of HcclCommSetMemoryRange");
  }
  for (const Range& part : ranges.active) {
    if (!found->overlaps(part)) continue;
    return argumentError(HCCL_E_PARA, kOp, fmt::format("{}", base), "baseVirPtr",
                         "a range without active memory: call HcclCommDeactivateCommMemory first");
  }
  ranges.announced.erase(found);
  return Status::ok();
}

Status activateMemory(const Communicator* communicator, void* address, size_t bytes) {
  constexpr const char* kOp = "HcclCommActivateCommMemory";
  const Range part = rangeOf(address, bytes);
  std::lock_guard lock(memory().mutex);
  Ranges& ranges = memory().ranges[communicator];
  const bool inside = std::any_of(ranges.announced.begin(), ranges.announced.end(),
                                  [&](const Range& range) { return range.holds(part); });
  const bool taken = std::any_of(ranges.active.begin(), ranges.active.end(),
                                 [&](const Range& other) { return other.overlaps(part); });
  if (!inside || taken) {
    return argumentError(HCCL_E_PARA, kOp, fmt::format("{}", address), "virPtr",
                         "memory inside a range of HcclCommSetMemoryRange that is not active yet");
  }
  ranges.active.push_back(part);
  return Status::ok();
}

Status deactivateMemory(const Communicator* communicator, void* address) {
  const uint64_t begin = rangeOf(address, 0).begin;
  std::lock_guard lock(memory().mutex);
  std::vector<Range>& active = memory().ranges[communicator].active;
  const size_t removed =
      std::erase_if(active, [&](const Range& part) { return part.begin == begin; });
  if (removed == 0) {
    return argumentError(HCCL_E_PARA, "HcclCommDeactivateCommMemory", fmt::format("{}", address),
                         "virPtr", "the start of active memory");
  }
  return Status::ok();
}

void forgetMemory(const Communicator* communicator) {
  std::lock_guard lock(memory().mutex);
  std::erase_if(memory().windows,
                [&](const auto& entry) { return entry.second.owner == communicator; });
  std::erase_if(memory().registered,
                [&](const auto& entry) { return entry.second.owner == communicator; });
  memory().ranges.erase(communicator);
}

}  // namespace hccl
