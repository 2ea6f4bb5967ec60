// The line to the program that leads a comparison: a unix socket, one line of text per message.
#pragma once

#include <string>

namespace hccl::peers {

class Control {
 public:
  explicit Control(const std::string& path);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // Sleeps until a line comes; "" when the leader is gone.
  std::string receive();
  void send(const std::string& line);

 private:
  int socket_ = -1;
  std::string rest_;
};

}  // namespace hccl::peers
