#include "src/runtime/memory_probe.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace hccl::runtime {
namespace {

std::optional<uint64_t> readNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (file >> value) return value;  // "max" fails
  return std::nullopt;
}

// The value of a "key value" line.
uint64_t readKey(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t value = 0;
    if (words >> name >> value && name == key) return value;
  }
  return 0;
}

struct Group {
  std::string folder;
  const char* limit;
  const char* usage;
  const char* inactive;  // page cache that is given up first
};

// This process' memory control groups and their parents, versions 1 and 2.
std::vector<Group> memoryGroups(const std::string& root) {
  std::vector<Group> groups;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool v2 = line.rfind("0::", 0) == 0;
    if (!v2 && controllers.find(",memory,") == std::string::npos) continue;
    std::string path = line.substr(second + 1);
    for (;;) {
      if (path == "/") path.clear();
      std::string folder = root;
      folder += v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
      folder += path;
      if (v2) {
        groups.push_back({std::move(folder), "/memory.max", "/memory.current", "inactive_file"});
      } else {
        groups.push_back({std::move(folder), "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                          "total_inactive_file"});
      }
      if (path.empty()) break;
      path.resize(path.rfind('/'));
    }
  }
  return groups;
}

}  // namespace

MemoryState memoryState(const std::string& root) {
  MemoryState state;
  state.total = readKey(root + "/proc/meminfo", "MemTotal:") * 1024;
  state.available = readKey(root + "/proc/meminfo", "MemAvailable:") * 1024;
  for (const Group& group : memoryGroups(root)) {
    const auto limit = readNumber(group.folder + group.limit);
    const auto usage = readNumber(group.folder + group.usage);
    if (!limit || !usage || *limit >= state.total) continue;
    const uint64_t cache = readKey(group.folder + "/memory.stat", group.inactive);
    const uint64_t used = *usage > cache ? *usage - cache : 0;
    state.total = *limit;
    state.available = std::min(state.available, *limit > used ? *limit - used : 0);
  }
  return state;
}

uint64_t memoryReserve(const MemoryState& state) {
  return std::clamp<uint64_t>(state.total / 64, 32ULL << 20, 512ULL << 20);
}

}  // namespace hccl::runtime
