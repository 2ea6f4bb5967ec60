// The unix-socket half of socket.h: abstract names, credentials, passing of descriptors.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "src/base/socket.h"
#include "src/base/system_error.h"

namespace hccl {
namespace {

constexpr int kSocketFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;

Status unixError(std::string_view what, std::string_view name, int error, HcclResult code) {
  return systemCallError(fmt::format("{} unix socket {}", what, name), error, code);
}

// An abstract address: a NUL in front of the name. An empty name is only the family, which makes
// the kernel choose one at bind time.
bool abstractAddress(std::string_view name, sockaddr_un* address, socklen_t* length) {
  *address = {};
  address->sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof(address->sun_path)) return false;
  std::memcpy(address->sun_path + 1, name.data(), name.size());
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                   (name.empty() ? 0 : name.size() + 1));
  return true;
}

}  // namespace

Result<UniqueFd> listenUnix(std::string_view name, int backlog) {
  sockaddr_un address;
  socklen_t length = 0;
  if (!abstractAddress(name, &address, &length)) {
    return Status(HCCL_E_PARA, fmt::format("unix socket name {} is too long", name));
  }
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | kSocketFlags, 0));
  if (!fd) return unixError("create", name, errno, HCCL_E_SYSCALL);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(fd.get(), backlog) != 0) {
    return unixError("listen on", name, errno, HCCL_E_UNAVAIL);
  }
  return fd;
}

Result<std::string> unixName(int fd) {
  sockaddr_un address{};
  socklen_t length = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return unixError("name of", "", errno, HCCL_E_SYSCALL);
  }
  const size_t head = offsetof(sockaddr_un, sun_path) + 1;
  if (address.sun_family != AF_UNIX || length < head) {
    return Status(HCCL_E_PARA, "the socket has no abstract unix name");
  }
  return std::string(address.sun_path + 1, length - head);
}

Result<UniqueFd> connectUnix(std::string_view name, Deadline deadline) {
  sockaddr_un address;
  socklen_t length = 0;
  if (name.empty() || !abstractAddress(name, &address, &length)) {
    return Status(HCCL_E_PARA, fmt::format("unix socket name {} cannot be used", name));
  }
  // A full backlog makes a non-blocking connect fail with EAGAIN, and no event tells when there is
  // room again; a blocking connect bounded by SO_SNDTIMEO waits in the kernel instead.
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return unixError("create", name, errno, HCCL_E_SYSCALL);
  do {
    const int ms = deadline.remainingMs();
    const timeval wait{ms < 0 ? 0 : ms / 1000, ms < 0 ? 0 : ms % 1000 * 1000 + (ms == 0 ? 1 : 0)};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) == 0) {
      const timeval none{};
      ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
      if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) {
        return unixError("set up", name, errno, HCCL_E_SYSCALL);
      }
      return fd;
    }
  } while (errno == EINTR);
  const int error = errno;
  return unixError("connect to", name, error,
                   error == EAGAIN ? HCCL_E_TIMEOUT : HCCL_E_TCP_CONNECT);
}

Result<UniqueFd> acceptUnix(int listenFd, Deadline deadline) {
  HCCL_ASSIGN_OR_RETURN(AcceptedSocket accepted, acceptTcp(listenFd, deadline));
  return std::move(accepted.fd);
}

Result<PeerCredentials> peerCredentials(int fd) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return unixError("credentials of", "", errno, HCCL_E_SYSCALL);
  }
  return PeerCredentials{credentials.pid, credentials.uid, credentials.gid};
}

Result<uid_t> peerUid(int fd) {
  HCCL_ASSIGN_OR_RETURN(const PeerCredentials credentials, peerCredentials(fd));
  return credentials.uid;
}

Status sendFds(int socket, std::span<const int> fds, const void* payload, size_t size,
               Deadline deadline, std::string_view peer) {
  if (fds.empty() || fds.size() > kMaxPassedFds || size == 0) {
    return Status(HCCL_E_PARA, fmt::format("sendFds: {} descriptors, {} bytes", fds.size(), size));
  }
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxPassedFds * sizeof(int))] = {};
  iovec part{const_cast<void*>(payload), size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent >= 0) {
      // The descriptors went with the first byte; the rest is plain data.
      const auto done = static_cast<size_t>(sent);
      return sendAll(socket, static_cast<const char*>(payload) + done, size - done, deadline, peer);
    }
    if (errno == EAGAIN) {
      HCCL_RETURN_IF_ERROR(waitReady(socket, POLLOUT, deadline, peer));
    } else if (errno != EINTR) {
      return unixError("pass descriptors over", peer, errno, HCCL_E_TCP_TRANSFER);
    }
  }
}

namespace {

// Takes the descriptors out of a message; every one is owned from here on.
void collectFds(msghdr* message, std::vector<UniqueFd>* fds) {
  for (cmsghdr* header = CMSG_FIRSTHDR(message); header != nullptr;
       header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
      fds->emplace_back(fd);
    }
  }
}

}  // namespace

Result<std::vector<UniqueFd>> recvFds(int socket, void* payload, size_t size, Deadline deadline,
                                      std::string_view peer) {
  std::vector<UniqueFd> fds;
  char* next = static_cast<char*>(payload);
  while (size > 0) {
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxPassedFds * sizeof(int))] = {};
    iovec part{next, size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (received > 0) {
      collectFds(&message, &fds);
      if ((message.msg_flags & MSG_CTRUNC) != 0 || fds.size() > kMaxPassedFds) {
        return Status(HCCL_E_TCP_TRANSFER,
                      fmt::format("descriptors from {} were lost (limit of open files, or more "
                                  "than {})",
                                  peer, kMaxPassedFds));
      }
      next += received;
      size -= static_cast<size_t>(received);
    } else if (received == 0) {
      return Status(HCCL_E_TCP_TRANSFER,
                    fmt::format("{} closed the unix socket with {} bytes missing", peer, size));
    } else if (errno == EAGAIN) {
      HCCL_RETURN_IF_ERROR(waitReady(socket, POLLIN, deadline, peer));
    } else if (errno != EINTR) {
      return unixError("receive descriptors over", peer, errno, HCCL_E_TCP_TRANSFER);
    }
  }
  return fds;
}

}  // namespace hccl
