#include "src/runtime/pollers.h"

#include <sched.h>

namespace hccl::runtime {
namespace {

thread_local Poller* insidePoller = nullptr;

}  // namespace

bool Pollers::add(Poller* poller) {
  for (uint32_t i = 0; i < kMax; ++i) {
    Poller* expected = nullptr;
    if (!places_[i].poller.compare_exchange_strong(expected, poller)) continue;
    uint32_t used = used_.load();
    while (used <= i && !used_.compare_exchange_weak(used, i + 1)) {
    }
    count_.fetch_add(1, std::memory_order_seq_cst);
    return true;
  }
  return false;
}

void Pollers::remove(Poller* poller) {
  for (uint32_t i = 0; i < used_.load(); ++i) {
    Poller* expected = poller;
    if (!places_[i].poller.compare_exchange_strong(expected, nullptr, std::memory_order_seq_cst)) {
      continue;
    }
    count_.fetch_sub(1, std::memory_order_seq_cst);
    // poll() does not block, so this is short. A poller may remove itself.
    while (insidePoller != poller && places_[i].inside.load(std::memory_order_seq_cst)) {
      sched_yield();
    }
    return;
  }
}

bool Pollers::poll(bool* busy) {
  if (count() == 0) return false;
  bool moved = false;
  const uint32_t used = used_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    Place& place = places_[i];
    if (place.poller.load(std::memory_order_relaxed) == nullptr) continue;
    if (place.inside.load(std::memory_order_relaxed) ||
        place.inside.exchange(true, std::memory_order_seq_cst)) {
      *busy = true;
      continue;
    }
    // Looked at again now that remove() waits for us.
    if (Poller* poller = place.poller.load(std::memory_order_seq_cst); poller != nullptr) {
      insidePoller = poller;
      moved |= poller->poll();
      insidePoller = nullptr;
    }
    place.inside.store(false, std::memory_order_release);
  }
  return moved;
}

}  // namespace hccl::runtime
