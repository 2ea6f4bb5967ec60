// Connection: framed messages, with descriptors on unix sockets, over one non-blocking socket of
// the control thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/socket.h"
#include "src/base/status.h"
#include "transport/control_thread.h"
#include "transport/wire.h"

namespace hccl::transport {

struct Message {
  MessageType type{};
  std::string body;
  std::vector<UniqueFd> fds;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // An accepted or connected socket / one whose connect() is under way (messages wait until it
  // stands). `peer` is the text for errors.
  static std::shared_ptr<Connection> open(ControlThread* thread, UniqueFd fd, bool isUnix,
                                          std::string peer);
  static std::shared_ptr<Connection> connecting(ControlThread* thread, UniqueFd fd,
                                                const SocketAddress& peer);
  ~Connection();

  // Called until close(); set both before messages can come (that is, in the same turn). onClosed
  // comes once, when the other end or an error ended the connection.
  std::function<void(Message)> onMessage;
  std::function<void(const Status&)> onClosed;

  void send(MessageType type, std::string_view body, std::span<const int> fds = {});
  // A member may send long bodies and, on unix sockets, descriptors.
  void setMember() { member_ = true; }
  // Makes the kernel notice an unreachable peer after 30 s (TCP).
  void keepAlive();
  // Messages that wait in the socket are handled now; for judging a peer's end by its last words.
  void drain() { readable(); }

  void close();
  // Sends what is queued, at most for 2 s, then closes. No callback comes any more.
  void closeAfterFlush();
  // Gives the socket away; what was read so far ends with a whole message.
  UniqueFd detach();

  bool isOpen() const { return static_cast<bool>(fd_); }
  bool isUnix() const { return isUnix_; }
  int fd() const { return fd_.get(); }
  const std::string& peer() const { return peer_; }

 private:
  Connection(ControlThread* thread, UniqueFd fd, bool isUnix, std::string peer)
      : thread_(thread), fd_(std::move(fd)), isUnix_(isUnix), peer_(std::move(peer)) {}
  void watch(uint32_t events);
  void onEvents(uint32_t events);
  void readable();
  void writable();
  void fail(const Status& status);
  // One read of up to `size` bytes; descriptors that come along are kept. As recv().
  ssize_t readSome(void* data, size_t size);
  bool acceptHeader();
  void deliver();

  struct Outgoing {
    std::string bytes;
    size_t sent = 0;
    std::vector<UniqueFd> fds;
  };
  ControlThread* thread_;
  GuardedFd fd_;
  bool isUnix_;
  bool member_ = false;
  bool connecting_ = false;
  bool flushing_ = false;
  uint32_t events_ = 0;
  uint64_t watchId_ = 0;
  uint64_t flushTimer_ = 0;
  std::string peer_;
  SocketAddress address_;
  std::deque<Outgoing> out_;
  MessageHeader header_;
  size_t headerRead_ = 0;
  std::string body_;
  size_t bodyRead_ = 0;
  std::vector<UniqueFd> fds_;
};

}  // namespace hccl::transport
