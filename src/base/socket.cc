#include "src/base/socket.h"

#include <fmt/core.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "src/base/system_error.h"

namespace hccl {
namespace {

constexpr int kSocketFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;

std::string_view peerName(std::string_view peer) {
  return peer.empty() ? "the peer" : peer;
}

bool isConnectionLoss(int error) {
  return error == ECONNRESET || error == EPIPE || error == ETIMEDOUT || error == ENOTCONN ||
         error == EHOSTUNREACH || error == ENETUNREACH || error == ENETDOWN ||
         error == ECONNABORTED;
}

Status transferError(std::string_view what, std::string_view peer, int error) {
  return systemCallError(fmt::format("{} {}", what, peerName(peer)), error,
                         isConnectionLoss(error) ? HCCL_E_TCP_TRANSFER : HCCL_E_SYSCALL);
}

}  // namespace

Status waitReady(int fd, short events, Deadline deadline, std::string_view peer) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, deadline.remainingMs());
    if (ready > 0) {
      if ((entry.revents & POLLNVAL) != 0) return systemCallError("poll", EBADF);
      return Status::ok();  // POLLERR and POLLHUP show in the call that follows
    }
    if (ready < 0 && errno != EINTR) return systemCallError("poll", errno);
    if (ready == 0 && deadline.expired()) {
      return Status(HCCL_E_TIMEOUT, fmt::format("timed out waiting for {}", peerName(peer)));
    }
  }
}

Result<UniqueFd> listenTcp(const IpAddress& address, uint16_t port, int backlog) {
  const SocketAddress local{address, port};
  sockaddr_storage storage;
  const socklen_t length = local.toSockaddr(&storage);
  if (length == 0) return Status(HCCL_E_PARA, "listen: the address is empty");
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | kSocketFlags, 0));
  if (!fd) return systemCallError("socket for " + local.toString(), errno);
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.isV6()) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) != 0 ||
      ::listen(fd.get(), backlog) != 0) {
    const int error = errno;
    return systemCallError("listen on " + local.toString(), error, HCCL_E_UNAVAIL);
  }
  return fd;
}

Result<UniqueFd> startConnectTcp(const SocketAddress& peer, const IpAddress& source) {
  sockaddr_storage storage;
  const socklen_t length = peer.toSockaddr(&storage);
  if (length == 0) return Status(HCCL_E_PARA, "connect: the address is empty");
  UniqueFd fd(::socket(peer.ip.family(), SOCK_STREAM | kSocketFlags, 0));
  if (!fd) return systemCallError("socket for " + peer.toString(), errno);
  if (source.isValid()) {
    sockaddr_storage from;
    const socklen_t fromLength = SocketAddress{source, 0}.toSockaddr(&from);
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&from), fromLength) != 0) {
      return systemCallError(fmt::format("bind {} to reach {}", source.toString(), peer.toString()),
                             errno, HCCL_E_TCP_CONNECT);
    }
  }
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) != 0 &&
      errno != EINPROGRESS && errno != EINTR) {
    return systemCallError("connect to " + peer.toString(), errno, HCCL_E_TCP_CONNECT);
  }
  return fd;
}

Status finishConnectTcp(int fd, const SocketAddress& peer) {
  int error = 0;
  socklen_t length = sizeof(error);
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error == 0) {
    // A port of the ephemeral range can be connected to by itself while nobody listens there.
    auto local = localAddress(fd);
    if (local && *local == peer) error = ECONNREFUSED;
  }
  if (error == 0) return Status::ok();
  return systemCallError("connect to " + peer.toString(), error, HCCL_E_TCP_CONNECT);
}

bool isRefused(const Status& status) {
  static const std::string mark = fmt::format("(errno {})", ECONNREFUSED);
  return status.code() == HCCL_E_TCP_CONNECT && status.text().find(mark) != std::string::npos;
}

Result<UniqueFd> connectTcp(const SocketAddress& peer, Deadline deadline, const IpAddress& source) {
  HCCL_ASSIGN_OR_RETURN(UniqueFd fd, startConnectTcp(peer, source));
  HCCL_RETURN_IF_ERROR(
      waitReady(fd.get(), POLLOUT, deadline, "a connection to " + peer.toString()));
  HCCL_RETURN_IF_ERROR(finishConnectTcp(fd.get(), peer));
  return fd;
}

Result<AcceptedSocket> acceptTcp(int listenFd, Deadline deadline) {
  for (;;) {
    sockaddr_storage storage{};
    socklen_t length = sizeof(storage);
    UniqueFd fd(::accept4(listenFd, reinterpret_cast<sockaddr*>(&storage), &length, kSocketFlags));
    if (fd) {
      AcceptedSocket accepted{std::move(fd), {}};
      auto peer = SocketAddress::fromSockaddr(reinterpret_cast<sockaddr*>(&storage));
      if (peer) accepted.peer = std::move(*peer);
      return accepted;
    }
    if (errno == EAGAIN) {
      HCCL_RETURN_IF_ERROR(waitReady(listenFd, POLLIN, deadline, "a connection"));
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return systemCallError("accept", errno);
    }
  }
}

Result<SocketAddress> localAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return systemCallError("getsockname", errno);
  }
  auto address = SocketAddress::fromSockaddr(reinterpret_cast<sockaddr*>(&storage));
  if (!address) return Status(HCCL_E_PARA, "getsockname: not an internet socket");
  return *address;
}

Result<SocketAddress> peerAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return systemCallError("getpeername", errno);
  }
  auto address = SocketAddress::fromSockaddr(reinterpret_cast<sockaddr*>(&storage));
  if (!address) return Status(HCCL_E_PARA, "getpeername: not an internet socket");
  return *address;
}

Status sendAll(int fd, const void* data, size_t size, Deadline deadline, std::string_view peer) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(fd, next, size, MSG_NOSIGNAL);
    if (sent >= 0) {
      next += sent;
      size -= static_cast<size_t>(sent);
    } else if (errno == EAGAIN) {
      HCCL_RETURN_IF_ERROR(waitReady(fd, POLLOUT, deadline, peer));
    } else if (errno != EINTR) {
      return transferError("send to", peer, errno);
    }
  }
  return Status::ok();
}

Status recvAll(int fd, void* data, size_t size, Deadline deadline, std::string_view peer) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t received = ::recv(fd, next, size, 0);
    if (received > 0) {
      next += received;
      size -= static_cast<size_t>(received);
    } else if (received == 0) {
      return Status(
          HCCL_E_TCP_TRANSFER,
          fmt::format("{} closed the connection with {} bytes missing", peerName(peer), size));
    } else if (errno == EAGAIN) {
      HCCL_RETURN_IF_ERROR(waitReady(fd, POLLIN, deadline, peer));
    } else if (errno != EINTR) {
      return transferError("receive from", peer, errno);
    }
  }
  return Status::ok();
}

Status setNoDelay(int fd) {
  const int on = 1;
  if (::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) {
    return systemCallError("setsockopt TCP_NODELAY", errno);
  }
  return Status::ok();
}

Status setBufferSizes(int fd, size_t sendBytes, size_t receiveBytes) {
  const auto set = [fd](int option, size_t bytes) {
    const int value = static_cast<int>(bytes > INT_MAX / 2 ? INT_MAX / 2 : bytes);
    return bytes == 0 || ::setsockopt(fd, SOL_SOCKET, option, &value, sizeof(value)) == 0;
  };
  if (!set(SO_SNDBUF, sendBytes)) return systemCallError("setsockopt SO_SNDBUF", errno);
  if (!set(SO_RCVBUF, receiveBytes)) return systemCallError("setsockopt SO_RCVBUF", errno);
  return Status::ok();
}

}  // namespace hccl
