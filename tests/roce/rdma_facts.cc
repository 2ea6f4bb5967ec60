#include "tests/roce/rdma_facts.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace hccl::roce {
namespace {

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The textual GID as an address: IPv4 when it is a mapped one.
std::string addressOf(const std::string& gid, bool* v4) {
  in6_addr address{};
  if (inet_pton(AF_INET6, gid.c_str(), &address) != 1) return "";
  if (IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_LINKLOCAL(&address)) return "";
  char text[INET6_ADDRSTRLEN];
  *v4 = IN6_IS_ADDR_V4MAPPED(&address) != 0;
  if (*v4) {
    inet_ntop(AF_INET, &address.s6_addr[12], text, sizeof text);
  } else {
    inet_ntop(AF_INET6, &address, text, sizeof text);
  }
  return text;
}

int linesOf(const std::string& command, pid_t pid) {
  FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return -1;
  int count = 0;
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    // What the tool calls a pid is the number of the thread that made the object.
    const char* mark = std::strstr(line, " pid ");
    if (mark == nullptr) continue;
    const int thread = std::atoi(mark + 5);
    std::error_code error;
    if (std::filesystem::exists(fmt::format("/proc/{}/task/{}", pid, thread), error)) ++count;
  }
  ::pclose(pipe);
  return count;
}

}  // namespace

uint64_t DeviceFacts::counter(const std::string& name) const {
  std::ifstream file(fmt::format("/sys/class/infiniband/{}/ports/1/hw_counters/{}", device, name));
  uint64_t value = 0;
  file >> value;
  return value;
}

DeviceFacts usableDevice() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", error)) {
    const std::string port = entry.path().string() + "/ports/1";
    if (firstLine(port + "/state").find("ACTIVE") == std::string::npos) continue;
    DeviceFacts facts;
    facts.device = entry.path().filename();
    for (int index = 0; index < 64; ++index) {
      if (firstLine(fmt::format("{}/gid_attrs/types/{}", port, index)) != "RoCE v2") continue;
      bool v4 = false;
      const std::string address = addressOf(firstLine(fmt::format("{}/gids/{}", port, index)), &v4);
      std::string& slot = v4 ? facts.address : facts.address6;
      if (slot.empty()) slot = address;
    }
    if (!facts.address.empty()) return facts;
  }
  return {};
}

Objects objectsOf(pid_t pid) {
  return {linesOf("rdma resource show qp", pid), linesOf("rdma resource show mr", pid),
          linesOf("rdma resource show cq", pid)};
}

}  // namespace hccl::roce
