#include "src/runtime/memory_watch.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace hccl::runtime {
namespace {

struct State {
  std::mutex watcherMutex;
  std::vector<MemoryWatcher*> watchers;
  std::mutex keptMutex;
  std::map<std::pair<std::byte*, size_t>, uint32_t> kept;  // how often
};
State& state() {
  static State* made = new State;  // lives until the process ends
  return *made;
}

}  // namespace

void addMemoryWatcher(MemoryWatcher* watcher) {
  std::lock_guard lock(state().watcherMutex);
  state().watchers.push_back(watcher);
}

void removeMemoryWatcher(MemoryWatcher* watcher) {
  std::lock_guard lock(state().watcherMutex);
  std::erase(state().watchers, watcher);
}

void memoryLeaves(const MemoryRange& range) {
  std::lock_guard lock(state().watcherMutex);
  for (MemoryWatcher* watcher : state().watchers) watcher->onMemoryLeaves(range);
}

void keepMemory(const MemoryRange& range) {
  std::lock_guard lock(state().keptMutex);
  ++state().kept[{range.begin, range.bytes}];
}

void unkeepMemory(const MemoryRange& range) {
  {
    std::lock_guard lock(state().keptMutex);
    const auto it = state().kept.find({range.begin, range.bytes});
    if (it == state().kept.end() || --it->second != 0) return;
    state().kept.erase(it);
  }
  memoryLeaves(range);
}

std::optional<MemoryRange> keptMemory(const std::byte* at, size_t bytes) {
  std::lock_guard lock(state().keptMutex);
  for (const auto& [range, times] : state().kept) {
    const MemoryRange kept{range.first, range.second};
    if (kept.begin > at) break;
    if (kept.holds(at, bytes)) return kept;
  }
  return std::nullopt;
}

}  // namespace hccl::runtime
