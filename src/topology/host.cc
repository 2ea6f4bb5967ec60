#include "src/topology/host.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "src/base/fd.h"

namespace hccl {
namespace {

std::string readLine(const char* path) {
  UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  std::array<char, 128> buffer{};
  const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  if (got <= 0) return {};
  std::string line(buffer.data(), static_cast<size_t>(got));
  return line.substr(0, line.find('\n'));
}

uint64_t namespaceId(const char* path) {
  struct stat info {};
  return ::stat(path, &info) == 0 ? static_cast<uint64_t>(info.st_ino) : 0;
}

}  // namespace

HostFacts readHostFacts() {
  HostFacts facts;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) facts.hostname = name.data();
  facts.bootId = readLine("/proc/sys/kernel/random/boot_id");
  facts.pidNamespace = namespaceId("/proc/self/ns/pid");
  facts.netNamespace = namespaceId("/proc/self/ns/net");
  facts.ipcNamespace = namespaceId("/proc/self/ns/ipc");
  facts.mountNamespace = namespaceId("/proc/self/ns/mnt");
  facts.userNamespace = namespaceId("/proc/self/ns/user");
  facts.uid = ::getuid();
  return facts;
}

const HostFacts& hostFacts() {
  static const HostFacts facts = readHostFacts();
  return facts;
}

}  // namespace hccl
