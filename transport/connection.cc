#include "transport/connection.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace hccl::transport {
namespace {

constexpr double kFlushSeconds = 2;

}  // namespace

std::shared_ptr<Connection> Connection::open(ControlThread* thread, UniqueFd fd, bool isUnix,
                                             std::string peer) {
  std::shared_ptr<Connection> made(new Connection(thread, std::move(fd), isUnix, std::move(peer)));
  if (!isUnix) (void)setNoDelay(made->fd());
  made->watch(EPOLLIN);
  return made;
}

std::shared_ptr<Connection> Connection::connecting(ControlThread* thread, UniqueFd fd,
                                                   const SocketAddress& peer) {
  std::shared_ptr<Connection> made(new Connection(thread, std::move(fd), false, peer.toString()));
  made->connecting_ = true;
  made->address_ = peer;
  made->watch(EPOLLOUT);
  return made;
}

Connection::~Connection() {
  close();
}

void Connection::watch(uint32_t events) {
  if (!fd_ || events == events_) return;
  events_ = events;
  if (watchId_ != 0) return thread_->rearm(watchId_, events);
  std::weak_ptr<Connection> weak = weak_from_this();
  watchId_ = thread_->watch(fd_.get(), events, [weak](uint32_t happened) {
    if (const auto self = weak.lock()) self->onEvents(happened);
  });
}

void Connection::onEvents(uint32_t events) {
  if (connecting_) {
    if (const Status status = finishConnectTcp(fd_.get(), address_); !status.isOk()) {
      return fail(status);
    }
    connecting_ = false;
    (void)setNoDelay(fd_.get());
  }
  if ((events & EPOLLOUT) != 0) writable();
  if (fd_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) readable();
  if (fd_) watch(EPOLLIN | (out_.empty() ? 0U : static_cast<uint32_t>(EPOLLOUT)));
}

void Connection::send(MessageType type, std::string_view body, std::span<const int> fds) {
  if (!fd_ || flushing_) return;
  MessageHeader header;
  header.type = static_cast<uint16_t>(type);
  header.length = static_cast<uint32_t>(body.size());
  Outgoing& next = out_.emplace_back();
  next.bytes.reserve(sizeof header + body.size());
  next.bytes.append(bytesOf(header)).append(body);
  for (const int fd : fds) next.fds.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (connecting_) return;
  writable();
  if (fd_) watch(EPOLLIN | (out_.empty() ? 0U : static_cast<uint32_t>(EPOLLOUT)));
}

void Connection::writable() {
  while (fd_ && !out_.empty()) {
    Outgoing& next = out_.front();
    iovec part{next.bytes.data() + next.sent, next.bytes.size() - next.sent};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxPassedFds)> control{};
    const size_t count = std::min(next.fds.size(), kMaxPassedFds);
    if (next.sent == 0 && count > 0) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
      cmsghdr* head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(sizeof(int) * count);
      for (size_t i = 0; i < count; ++i) {
        const int fd = next.fds[i].get();
        std::memcpy(CMSG_DATA(head) + i * sizeof(int), &fd, sizeof fd);
      }
    }
    const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return;
      if (errno == EPIPE || errno == ECONNRESET) {
        // What the peer said before it left is read first: it may carry the reason.
        out_.clear();
        break;
      }
      // Not from here: the caller may be in the middle of something.
      thread_->post([self = shared_from_this(), error = errno] {
        self->fail(Status(HCCL_E_TCP_TRANSFER,
                          fmt::format("sending to {}: {}", self->peer_, std::strerror(error))));
      });
      out_.clear();
      return;
    }
    next.sent += static_cast<size_t>(sent);
    if (next.sent == next.bytes.size()) out_.pop_front();
  }
  if (flushing_ && out_.empty()) close();
}

ssize_t Connection::readSome(void* data, size_t size) {
  if (!isUnix_ || !member_) return ::recv(fd_.get(), data, size, MSG_DONTWAIT);
  iovec part{data, size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxPassedFds)> control{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
      fds_.emplace_back(fd);
    }
  }
  if (fds_.size() > kMaxPassedFds) fds_.resize(kMaxPassedFds);
  return got;
}

bool Connection::acceptHeader() {
  const uint32_t limit = member_ ? kMaxMemberBody : kMaxStrangerBody;
  if (header_.magic != kWireMagic) {
    fail(Status(HCCL_E_NETWORK, fmt::format("{} does not speak this protocol", peer_)));
    return false;
  }
  if (header_.length > limit) {
    fail(Status(HCCL_E_NETWORK,
                fmt::format("{} sent a message of {} bytes, more than the {} allowed", peer_,
                            header_.length, limit)));
    return false;
  }
  return true;
}

void Connection::deliver() {
  Message message;
  message.type = static_cast<MessageType>(header_.type);
  if (header_.version != kWireVersion && message.type != MessageType::kReject) {
    // Only the layouts of the header and of a rejection are known across versions.
    RejectBody body;
    body.reason = RejectReason::kVersion;
    body.version = header_.version;
    message.type = MessageType::kReject;
    message.body = std::string(bytesOf(body));
    RejectBody mine;
    mine.reason = RejectReason::kVersion;
    send(MessageType::kReject, bytesOf(mine));
  } else {
    message.body = std::move(body_);
    message.fds = std::move(fds_);
  }
  headerRead_ = bodyRead_ = 0;
  body_.clear();
  fds_.clear();
  if (const auto handler = onMessage) handler(std::move(message));
}

void Connection::readable() {
  const auto self = shared_from_this();
  while (fd_ && !flushing_) {
    ssize_t got;
    if (headerRead_ < sizeof header_) {
      got = readSome(reinterpret_cast<char*>(&header_) + headerRead_, sizeof header_ - headerRead_);
      if (got > 0 && (headerRead_ += static_cast<size_t>(got)) == sizeof header_) {
        if (!acceptHeader()) return;
        body_.resize(header_.length);
        if (body_.empty()) deliver();
      }
    } else {
      got = readSome(body_.data() + bodyRead_, body_.size() - bodyRead_);
      if (got > 0 && (bodyRead_ += static_cast<size_t>(got)) == body_.size()) deliver();
    }
    if (got > 0) continue;
    if (got == 0)
      return fail(Status(HCCL_E_TCP_TRANSFER, fmt::format("{} closed the connection", peer_)));
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return;
    return fail(Status(HCCL_E_TCP_TRANSFER, fmt::format("{}: {}", peer_, std::strerror(errno))));
  }
  if (fd_ && flushing_) {
    // Nobody listens any more; read away what comes so that closing sends no reset, and see the
    // end.
    std::array<char, 4096> trash;
    ssize_t got;
    while ((got = ::recv(fd_.get(), trash.data(), trash.size(), MSG_DONTWAIT)) > 0) {
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) close();
  }
}

void Connection::fail(const Status& status) {
  const auto self = shared_from_this();
  if (!fd_) return;
  close();
  if (const auto handler = std::exchange(onClosed, nullptr)) handler(status);
}

void Connection::keepAlive() {
  const int on = 1, idle = 10, interval = 5, probes = 4;
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

void Connection::close() {
  if (watchId_ != 0) thread_->unwatch(std::exchange(watchId_, 0));
  if (flushTimer_ != 0) thread_->cancel(std::exchange(flushTimer_, 0));
  fd_.reset();
  out_.clear();
}

void Connection::closeAfterFlush() {
  onMessage = nullptr;
  onClosed = nullptr;
  if (!fd_ || out_.empty() || connecting_) return close();
  flushing_ = true;
  // The timer keeps the object alive until then.
  flushTimer_ = thread_->at(Deadline::after(kFlushSeconds), [self = shared_from_this()] {
    self->flushTimer_ = 0;
    self->close();
  });
}

UniqueFd Connection::detach() {
  if (watchId_ != 0) thread_->unwatch(std::exchange(watchId_, 0));
  return fd_.release();
}

}  // namespace hccl::transport
