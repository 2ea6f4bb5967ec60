#include "tests/integration/lifecycle/inventory.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace hccl::multirank {
namespace {

size_t entries(const std::string& folder) {
  size_t count = 0;
  std::error_code ignored;
  for (auto it = std::filesystem::directory_iterator(folder, ignored);
       it != std::filesystem::directory_iterator(); it.increment(ignored)) {
    ++count;
  }
  return count;
}

size_t lines(const std::string& path) {
  std::ifstream file(path);
  size_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

size_t residentSize() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stoul(line.substr(6));
  }
  return 0;
}

}  // namespace

Inventory Inventory::ofThisProcess() {
  Inventory now;
  now.descriptors = entries("/proc/self/fd");
  now.threads = entries("/proc/self/task");
  now.mappings = lines("/proc/self/maps");
  now.residentKb = residentSize();
  const std::set<std::string> all = listeningSockets();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (target.rfind("socket:[", 0) == 0 && all.contains(target.substr(8, target.size() - 9)))
      ++now.listeners;
  }
  return now;
}

std::string Inventory::text() const {
  return std::to_string(descriptors) + " descriptors, " + std::to_string(threads) + " threads, " +
         std::to_string(mappings) + " mappings, " + std::to_string(residentKb) + " KB resident, " +
         std::to_string(listeners) + " listeners";
}

std::set<std::string> namesIn(const std::string& folder) {
  std::set<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

std::set<std::string> listeningSockets() {
  std::set<std::string> inodes;
  for (const char* path : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);  // headings
    while (std::getline(file, line)) {
      std::stringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retries, uid, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retries >> uid >> timeout >>
          inode;
      if (state == "0A") inodes.insert(inode);
    }
  }
  return inodes;
}

}  // namespace hccl::multirank
