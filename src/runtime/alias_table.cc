#include "src/runtime/alias_table.h"

#include <array>
#include <atomic>
#include <mutex>

namespace hccl::runtime {
namespace {

// A place is written under the lock while its version is odd; readers take it only when they saw
// the same even version before and after.
struct Place {
  std::atomic<uint32_t> version{0};
  std::atomic<uintptr_t> address{0};
  std::atomic<size_t> bytes{0};  // 0: free
  std::atomic<Arena*> arena{nullptr};
  std::atomic<uint64_t> offset{0};
};

std::mutex writers;
std::array<Place, 1024> places;
std::atomic<uint32_t> used{0};  // places ever used

struct Alias {
  uintptr_t address;
  size_t bytes;
  Arena* arena;
  uint64_t offset;
};

void write(Place& place, const Alias& alias) {
  place.version.fetch_add(1, std::memory_order_seq_cst);
  place.address.store(alias.address, std::memory_order_seq_cst);
  place.bytes.store(alias.bytes, std::memory_order_seq_cst);
  place.arena.store(alias.arena, std::memory_order_seq_cst);
  place.offset.store(alias.offset, std::memory_order_seq_cst);
  place.version.fetch_add(1, std::memory_order_seq_cst);
}

bool read(const Place& place, Alias* alias) {
  for (;;) {
    const uint32_t version = place.version.load(std::memory_order_seq_cst);
    if ((version & 1) != 0) continue;  // five stores long
    *alias = {
        place.address.load(std::memory_order_seq_cst), place.bytes.load(std::memory_order_seq_cst),
        place.arena.load(std::memory_order_seq_cst), place.offset.load(std::memory_order_seq_cst)};
    if (place.version.load(std::memory_order_seq_cst) == version) return alias->bytes != 0;
  }
}

bool aliasOf(uintptr_t address, Alias* alias) {
  const uint32_t count = used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    if (read(places[i], alias) && address >= alias->address &&
        address - alias->address < alias->bytes) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool addAlias(uintptr_t address, size_t bytes, Arena* arena, uint64_t offset) {
  std::lock_guard lock(writers);
  for (uint32_t i = 0; i < places.size(); ++i) {
    if (places[i].bytes.load(std::memory_order_relaxed) != 0) continue;
    write(places[i], {address, bytes, arena, offset});
    if (used.load(std::memory_order_relaxed) <= i) used.store(i + 1, std::memory_order_release);
    return true;
  }
  return false;
}

void removeAlias(uintptr_t address) {
  std::lock_guard lock(writers);
  for (Place& place : places) {
    if (place.bytes.load(std::memory_order_relaxed) != 0 &&
        place.address.load(std::memory_order_relaxed) == address) {
      write(place, {0, 0, nullptr, 0});
      return;
    }
  }
}

Arena* findAlias(uintptr_t address, size_t bytes, uint64_t* offset) {
  Alias first{};
  if (used.load(std::memory_order_acquire) == 0 || !aliasOf(address, &first)) return nullptr;
  const uint64_t start = first.offset + (address - first.address);
  size_t covered = first.bytes - (address - first.address);
  while (covered < bytes) {
    Alias next{};
    if (!aliasOf(address + covered, &next) || next.arena != first.arena ||
        next.address != address + covered || next.offset != start + covered) {
      return nullptr;
    }
    covered += next.bytes;
  }
  if (offset != nullptr) *offset = start;
  return first.arena;
}

}  // namespace hccl::runtime
