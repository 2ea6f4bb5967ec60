#include "src/base/system_error.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace hccl {
namespace {

constexpr int kResourceEi = 7;

std::string limitText(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
}

Status exhausted(HcclResult code, std::string_view resource, std::string_view what, int error,
                 const std::string& limit) {
  return Status(
      code,
      fmt::format("Failed to allocate resource {} with info {}: {} (errno {}){}{}. "
                  "Reason: Resources are exhausted.",
                  resource, what, std::strerror(error), error, limit.empty() ? "" : ", ", limit),
      kResourceEi);
}

}  // namespace

Status systemCallError(std::string_view what, int error, HcclResult code) {
  switch (error) {
    case EMFILE:
      return exhausted(code, "file descriptor", what, error,
                       "limit of the process (ulimit -n) " + limitText(RLIMIT_NOFILE));
    case ENFILE:
      return exhausted(code, "file descriptor", what, error,
                       "limit of the machine (/proc/sys/fs/file-max)");
    case ENOMEM:
      return exhausted(code, "HostMemory", what, error,
                       "limits of the process (ulimit -v) " + limitText(RLIMIT_AS) +
                           ", of locked memory (ulimit -l) " + limitText(RLIMIT_MEMLOCK));
    case ENOBUFS:
      return exhausted(code, "socket memory", what, error, "");
    case ENOSPC:
      return exhausted(code, "space", what, error, "");
    default:
      return Status(code, fmt::format("{}: {} (errno {})", what, std::strerror(error), error));
  }
}

Status threadStartError(std::string_view name, int error) {
  return exhausted(HCCL_E_SYSCALL, "thread", fmt::format("starting {}", name), error,
                   "limit of the user's threads (ulimit -u) " + limitText(RLIMIT_NPROC));
}

}  // namespace hccl
