// Sockets: TCP and abstract unix sockets, all non-blocking and close-on-exec. Every wait has a
// deadline; errors name the peer and the errno. Codes: HCCL_E_TIMEOUT when the deadline passed,
// HCCL_E_TCP_CONNECT when a connection could not be made, HCCL_E_TCP_TRANSFER when one broke,
// HCCL_E_UNAVAIL when an address cannot be bound, HCCL_E_SYSCALL for the rest.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/clock.h"
#include "src/base/fd.h"
#include "src/base/ip_address.h"
#include "src/base/status.h"

namespace hccl {

struct AcceptedSocket {
  UniqueFd fd;
  SocketAddress peer;
};

// Listens on addr:port; port 0 lets the kernel choose (localAddress() tells). SO_REUSEADDR only, so
// two live listeners never share a port. A port in use gives HCCL_E_UNAVAIL.
Result<UniqueFd> listenTcp(const IpAddress& address, uint16_t port, int backlog = 4096);
// Waits until the connection stands. `source`, when valid, is the local address to bind.
Result<UniqueFd> connectTcp(const SocketAddress& peer, Deadline deadline,
                            const IpAddress& source = {});
// The two halves of connectTcp for event loops: start, wait for POLLOUT, ask for the outcome.
Result<UniqueFd> startConnectTcp(const SocketAddress& peer, const IpAddress& source = {});
Status finishConnectTcp(int fd, const SocketAddress& peer);
// Nobody listens at the address: what connecting to it, over TCP or a unix socket, said.
bool isRefused(const Status& status);
// An expired deadline tries once: HCCL_E_TIMEOUT then means "nobody there".
Result<AcceptedSocket> acceptTcp(int listenFd, Deadline deadline);
Result<SocketAddress> localAddress(int fd);
Result<SocketAddress> peerAddress(int fd);

// Send or receive exactly `size` bytes. `peer` is the text for errors.
Status sendAll(int fd, const void* data, size_t size, Deadline deadline,
               std::string_view peer = "");
Status recvAll(int fd, void* data, size_t size, Deadline deadline, std::string_view peer = "");
// Waits until one of `events` (POLLIN, POLLOUT) is ready.
Status waitReady(int fd, short events, Deadline deadline, std::string_view peer = "");

Status setNoDelay(int fd);
// Sizes in bytes; 0 keeps the kernel's automatic sizing.
Status setBufferSizes(int fd, size_t sendBytes, size_t receiveBytes);

// Abstract unix sockets (nothing in any file system; gone with the process). An empty name lets the
// kernel choose one: unixName() tells.
Result<UniqueFd> listenUnix(std::string_view name, int backlog = 4096);
Result<std::string> unixName(int fd);
Result<UniqueFd> connectUnix(std::string_view name, Deadline deadline);
Result<UniqueFd> acceptUnix(int listenFd, Deadline deadline);

struct PeerCredentials {
  pid_t pid = -1;
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
};
// Who is at the other end of a unix socket, as the kernel saw it at connect time.
Result<PeerCredentials> peerCredentials(int fd);
Result<uid_t> peerUid(int fd);

inline constexpr size_t kMaxPassedFds = 8;
// Sends 1..8 descriptors with a payload of at least one byte over a unix socket.
Status sendFds(int socket, std::span<const int> fds, const void* payload, size_t size,
               Deadline deadline, std::string_view peer = "");
// Receives exactly `size` payload bytes and the descriptors that came with them (close-on-exec).
Result<std::vector<UniqueFd>> recvFds(int socket, void* payload, size_t size, Deadline deadline,
                                      std::string_view peer = "");

}  // namespace hccl
