// Strangers at the listening ports of a job's processes.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "tests/fault/culprit.h"

namespace hccl::faults {
namespace {

constexpr size_t kFlood = 1000;

std::set<std::string> socketsOf(const std::string& process) {
  std::set<std::string> inodes;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + process + "/fd", ignored)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (target.rfind("socket:[", 0) == 0) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

// IPv4 listeners among the sockets, as connect() wants them.
std::vector<sockaddr_in> listenersOf(const std::string& process) {
  const std::set<std::string> own = socketsOf(process);
  std::vector<sockaddr_in> found;
  std::ifstream file("/proc/self/net/tcp");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::stringstream fields(line);
    std::string slot, local, remote, state, skip, inode;
    fields >> slot >> local >> remote >> state >> skip >> skip >> skip >> skip >> skip >> inode;
    if (state != "0A" || !own.contains(inode)) continue;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = static_cast<uint32_t>(std::stoul(local.substr(0, 8), nullptr, 16));
    address.sin_port = htons(static_cast<uint16_t>(std::stoul(local.substr(9), nullptr, 16)));
    found.push_back(address);
  }
  return found;
}

int connectTo(const sockaddr_in& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) (void)::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return fd;
}

}  // namespace

void botherListeners(const std::vector<std::string>& processes, const std::string& fault,
                     uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int> open;
  for (const std::string& process : processes) {
    for (const sockaddr_in& address : listenersOf(process)) {
      const size_t count = fault == "flood" ? kFlood / processes.size() : 8;
      for (size_t i = 0; i < count; ++i) {
        const int fd = connectTo(address);
        if (fd < 0) continue;
        open.push_back(fd);
        if (fault == "halfopen") continue;
        std::string bytes(1 + random() % 4096, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        ::usleep(100);  // let the connection stand
        (void)!::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (i % 2 == 0) ::shutdown(fd, SHUT_WR);
      }
    }
  }
  // They stay open to the end of the process.
}

}  // namespace hccl::faults
