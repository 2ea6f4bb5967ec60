// The yardstick of TCP: two ranks send each other as many bytes as an AllReduce has at least to, at
// the same time, over one connection of loopback, and compute nothing. PEER_RANK: 0 or 1.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "contender.h"

namespace hccl::peers {
namespace {

class Stream final : public Contender {
 public:
  Stream() {
    place_ = placeFromLeader();
    if (place_.rank == 0) {
      listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address = loopback(0);
      if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
          listen(listener_, 1) != 0) {
        giveUp("cannot listen");
      }
    }
  }
  Place place() const override { return place_; }
  std::string invitation() override {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    return std::to_string(ntohs(address.sin_port));
  }
  void join(const std::string& invitation) override {
    if (place_.rank == 0) {
      socket_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    } else {
      socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_in address = loopback(static_cast<uint16_t>(std::stoi(invitation)));
      if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        giveUp("cannot connect");
    }
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(socket_, F_SETFL, O_NONBLOCK);
  }

  float* allocate(size_t count) override {
    return static_cast<float*>(std::calloc(count + 16, sizeof(float)));
  }
  void free(float* memory) override { std::free(memory); }

  void allReduce(const float* in, float* out, size_t count) override {
    const size_t bytes = count * sizeof(float);
    size_t sent = 0, received = 0;
    while (sent < bytes || received < bytes) {
      pollfd entry{
          socket_,
          static_cast<short>((received < bytes ? POLLIN : 0) | (sent < bytes ? POLLOUT : 0)), 0};
      if (poll(&entry, 1, -1) < 0) continue;
      if ((entry.revents & POLLOUT) != 0) {
        const ssize_t n =
            send(socket_, reinterpret_cast<const char*>(in) + sent, bytes - sent, MSG_NOSIGNAL);
        if (n > 0) sent += static_cast<size_t>(n);
      }
      if ((entry.revents & POLLIN) == 0) continue;
      const ssize_t n = recv(socket_, reinterpret_cast<char*>(out) + received, bytes - received, 0);
      if (n == 0) giveUp("the other rank is gone");
      if (n > 0) received += static_cast<size_t>(n);
    }
  }
  void barrier() override {
    float a = 0, b = 0;
    allReduce(&a, &b, 1);
  }

 private:
  static sockaddr_in loopback(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }
  Place place_;
  int listener_ = -1;
  int socket_ = -1;
};

}  // namespace

std::unique_ptr<Contender> makeContender() {
  return std::make_unique<Stream>();
}

}  // namespace hccl::peers
