#include "control.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "contender.h"

namespace hccl::peers {

Control::Control(const std::string& path)
    : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (socket_ < 0 ||
      connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    giveUp("cannot reach the leader at " + path);
  }
}

Control::~Control() {
  close(socket_);
}

std::string Control::receive() {
  for (;;) {
    const size_t end = rest_.find('\n');
    if (end != std::string::npos) {
      std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t got = read(socket_, buffer, sizeof buffer);
    if (got <= 0) return {};
    rest_.append(buffer, static_cast<size_t>(got));
  }
}

void Control::send(const std::string& line) {
  const std::string text = line + "\n";
  size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t wrote = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (wrote <= 0) giveUp("the leader is gone");
    sent += static_cast<size_t>(wrote);
  }
}

}  // namespace hccl::peers
