// What a process, or the machine, holds: for comparisons before and after.
#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace hccl::multirank {

struct Inventory {
  size_t descriptors = 0;
  size_t threads = 0;
  size_t mappings = 0;
  size_t residentKb = 0;
  size_t listeners = 0;  // of this process: listening TCP sockets

  static Inventory ofThisProcess();
  std::string text() const;
};

// Names in a folder, such as /dev/shm.
std::set<std::string> namesIn(const std::string& folder);
// Inodes of all listening TCP sockets of this network namespace.
std::set<std::string> listeningSockets();

}  // namespace hccl::multirank
