#include "transport/tcp/tcp_link.h"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/socket.h"
#include "src/runtime/engine.h"

namespace hccl::transport {
namespace {

// One call moves at most this much in one direction, so that the other one has its turn.
constexpr uint64_t kBurst = 1 << 20;

bool matches(const FrameHeader& got, const FrameHeader& expected) {
  return got.epoch == expected.epoch && got.sequence == expected.sequence &&
         got.signature == expected.signature && got.count == expected.count &&
         got.step == expected.step && got.bytes == expected.bytes;
}

Io merge(Io a, Io b) {
  if (a == Io::kFailed || b == Io::kFailed) return Io::kFailed;
  return a == Io::kProgress || b == Io::kProgress ? Io::kProgress : Io::kIdle;
}

}  // namespace

TcpLink::TcpLink(Names names, std::vector<UniqueFd> streams, int wakeSet)
    : names_(std::move(names)), wakeSet_(wakeSet) {
  for (auto& fd : streams) {
    Stream& stream = streams_.emplace_back();
    stream.fd = GuardedFd(std::move(fd));
    (void)setNoDelay(stream.fd.get());
    if (wakeSet_ < 0) continue;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.fd = stream.fd.get();
    ::epoll_ctl(wakeSet_, EPOLL_CTL_ADD, stream.fd.get(), &event);
  }
}

TcpLink::~TcpLink() {
  if (runtime::isForkedChild()) return;
  for (auto& stream : streams_) {
    if (wakeSet_ >= 0) ::epoll_ctl(wakeSet_, EPOLL_CTL_DEL, stream.fd.get(), nullptr);
    // What was sent still arrives; a forked child that holds the socket does not delay its end.
    ::shutdown(stream.fd.get(), SHUT_WR);
  }
}

TcpLink::Part TcpLink::partOf(size_t stream, uint64_t bytes) const {
  if (streams_.size() == 1 || bytes < kStripeBytes) {
    return stream == 0 ? Part{0, bytes} : Part{bytes, bytes};
  }
  // Parts end on cache lines.
  const uint64_t size = (bytes / streams_.size() + 63) / 64 * 64;
  const uint64_t begin = std::min<uint64_t>(bytes, stream * size);
  const uint64_t end =
      stream + 1 == streams_.size() ? bytes : std::min<uint64_t>(bytes, begin + size);
  return {begin, end};
}

Io TcpLink::send(SendState& state) noexcept {
  if (failed_.load(std::memory_order_relaxed)) return Io::kFailed;
  const uint64_t total = kHeader + state.header.bytes;
  Io io = Io::kIdle;
  for (size_t i = 0; i < streams_.size(); ++i) {
    const Part part = partOf(i, state.header.bytes);
    const Io one = i == 0 ? sendFirst(state, part) : sendRest(state, i, part);
    if (one == Io::kFailed) return one;
    io = merge(io, one);
    if (state.header.bytes < kStripeBytes) break;
  }
  if (state.sent != total) return io;
  for (auto& stream : streams_) stream.partSent = 0;
  bytesSent_.fetch_add(state.header.bytes, std::memory_order_relaxed);
  return Io::kDone;
}

// Header and payload leave with one system call; partSent counts both on this stream.
Io TcpLink::sendFirst(SendState& state, Part part) {
  Stream& stream = streams_[0];
  const uint64_t total = kHeader + (part.end - part.begin);
  Io io = Io::kIdle;
  uint64_t burst = 0;
  while (stream.partSent < total && burst < kBurst) {
    std::array<iovec, 2> parts;
    size_t count = 0;
    uint64_t at = stream.partSent;
    if (at < kHeader) {
      parts[count++] = {reinterpret_cast<char*>(&state.header) + at, kHeader - at};
      at = kHeader;
    }
    if (total > at) {
      // The socket only reads from it.
      parts[count++] = {const_cast<std::byte*>(state.data) + (at - kHeader), total - at};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(stream.fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) break;
      return broken(errno, "sending to");
    }
    stream.partSent += static_cast<uint64_t>(sent);
    state.sent += static_cast<size_t>(sent);
    burst += static_cast<uint64_t>(sent);
    io = Io::kProgress;
  }
  return io;
}

Io TcpLink::sendRest(SendState& state, size_t index, Part part) {
  Stream& stream = streams_[index];
  Io io = Io::kIdle;
  uint64_t burst = 0;
  while (part.begin + stream.partSent < part.end && burst < kBurst) {
    const ssize_t sent =
        ::send(stream.fd.get(), state.data + part.begin + stream.partSent,
               part.end - part.begin - stream.partSent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) break;
      return broken(errno, "sending to");
    }
    stream.partSent += static_cast<uint64_t>(sent);
    state.sent += static_cast<size_t>(sent);
    burst += static_cast<uint64_t>(sent);
    io = Io::kProgress;
  }
  return io;
}

// Reads on stream 0: up to `want` bytes into `data`, and what follows into the room for reading
// ahead.
Io TcpLink::fill(std::byte* data, size_t want, size_t* got) {
  *got = 0;
  if (aheadBegin_ < aheadEnd_) {
    *got = std::min(want, aheadEnd_ - aheadBegin_);
    std::memcpy(data, ahead_.data() + aheadBegin_, *got);
    aheadBegin_ += *got;
    return Io::kProgress;
  }
  const std::array<iovec, 2> parts = {iovec{data, want}, iovec{ahead_.data(), ahead_.size()}};
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());
  message.msg_iovlen = parts.size();
  ssize_t read;
  do {
    read = ::recvmsg(streams_[0].fd.get(), &message, MSG_DONTWAIT);
  } while (read < 0 && errno == EINTR);
  if (read < 0) return errno == EAGAIN ? Io::kIdle : broken(errno, "receiving from");
  if (read == 0) return broken(0, "receiving from");
  *got = std::min(want, static_cast<size_t>(read));
  aheadBegin_ = 0;
  aheadEnd_ = static_cast<size_t>(read) - *got;
  return Io::kProgress;
}

bool TcpLink::peek(FrameHeader& header) noexcept {
  auto* to = reinterpret_cast<std::byte*>(&header);
  const size_t ahead = std::min(aheadEnd_ - aheadBegin_, kHeader);
  std::memcpy(to, ahead_.data() + aheadBegin_, ahead);
  if (ahead == kHeader) return true;
  const ssize_t got =
      ::recv(streams_[0].fd.get(), to + ahead, kHeader - ahead, MSG_PEEK | MSG_DONTWAIT);
  return got == static_cast<ssize_t>(kHeader - ahead);
}

Io TcpLink::receive(ReceiveState& state) noexcept {
  if (failed_.load(std::memory_order_relaxed)) return Io::kFailed;
  Io io = Io::kIdle;
  if (state.received < kHeader) {
    io = readHeader(state);
    if (io == Io::kFailed || io == Io::kMismatch || state.received < kHeader) return io;
  }
  const uint64_t bytes = state.got.bytes;
  for (size_t i = 0; i < streams_.size(); ++i) {
    const Part part = partOf(i, bytes);
    const Io one = i == 0 ? receiveFirst(state, part) : receiveRest(state, i, part);
    if (one == Io::kFailed) return one;
    io = merge(io, one);
    if (bytes < kStripeBytes) break;
  }
  if (state.received != kHeader + bytes) return io;
  for (auto& stream : streams_) stream.partReceived = 0;
  bytesReceived_.fetch_add(bytes, std::memory_order_relaxed);
  return Io::kDone;
}

Io TcpLink::readHeader(ReceiveState& state) {
  Io io = Io::kIdle;
  while (state.received < kHeader) {
    size_t got;
    const Io one = fill(reinterpret_cast<std::byte*>(&state.got) + state.received,
                        kHeader - state.received, &got);
    if (one == Io::kFailed) return one;
    if (one == Io::kIdle) return io;
    io = Io::kProgress;
    state.received += got;
  }
  if (state.got.magic != FrameHeader::kMagic) return protocolError("what came is no frame");
  return matches(state.got, state.expected) ? io : Io::kMismatch;
}

Io TcpLink::receiveFirst(ReceiveState& state, Part part) {
  Stream& stream = streams_[0];
  Io io = Io::kIdle;
  uint64_t burst = 0;
  while (stream.partReceived < part.end && burst < kBurst) {
    size_t got;
    const Io one = fill(state.data + stream.partReceived, part.end - stream.partReceived, &got);
    if (one == Io::kFailed) return one;
    if (one == Io::kIdle) break;
    io = Io::kProgress;
    stream.partReceived += got;
    state.received += got;
    burst += got;
  }
  return io;
}

Io TcpLink::receiveRest(ReceiveState& state, size_t index, Part part) {
  Stream& stream = streams_[index];
  Io io = Io::kIdle;
  uint64_t burst = 0;
  while (part.begin + stream.partReceived < part.end && burst < kBurst) {
    const ssize_t got = ::recv(stream.fd.get(), state.data + part.begin + stream.partReceived,
                               part.end - part.begin - stream.partReceived, MSG_DONTWAIT);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) break;
      return broken(errno, "receiving from");
    }
    if (got == 0) return broken(0, "receiving from");
    stream.partReceived += static_cast<uint64_t>(got);
    state.received += static_cast<size_t>(got);
    burst += static_cast<uint64_t>(got);
    io = Io::kProgress;
  }
  return io;
}

Io TcpLink::broken(int error, const char* doing) {
  std::lock_guard lock(failureMutex_);
  if (failure_.isOk()) {
    const std::string cause = peerLeft_.load(std::memory_order_relaxed)
                                  ? "the peer has destroyed its communicator"
                              : error == 0 ? "the peer closed the connection"
                                           : std::strerror(error);
    failure_ = Status(HCCL_E_TCP_TRANSFER,
                      fmt::format("SDMA memory copy task exception occurred. Remote rank: {}. Base "
                                  "information: TCP, {} {} failed: {}. Task information: frame "
                                  "transfer. Communicator information: {}.",
                                  names_.peer, doing, names_.address, cause, names_.communicator),
                      12, static_cast<int>(names_.peer));
  }
  failed_.store(true, std::memory_order_release);
  return Io::kFailed;
}

Io TcpLink::protocolError(const std::string& what) {
  std::lock_guard lock(failureMutex_);
  if (failure_.isOk()) {
    failure_ =
        Status(HCCL_E_TCP_TRANSFER,
               fmt::format("TCP link to rank {} at {}: {}", names_.peer, names_.address, what), 0,
               static_cast<int>(names_.peer));
  }
  failed_.store(true, std::memory_order_release);
  return Io::kFailed;
}

Status TcpLink::failure() const {
  std::lock_guard lock(failureMutex_);
  return failure_;
}

}  // namespace hccl::transport
