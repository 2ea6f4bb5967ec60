// Two network namespaces joined by a veth pair: two servers on one machine. Nothing has a name, so
// nothing stays when the test is killed. Needs root.
#pragma once

#include <cstdint>
#include <string>

namespace hccl::multirank {

class TwoServers {
 public:
  static constexpr const char* kAddress[2] = {"10.231.7.1", "10.231.7.2"};
  static constexpr const char* kInterface = "hcclveth";

  TwoServers();
  ~TwoServers();
  TwoServers(const TwoServers&) = delete;
  TwoServers& operator=(const TwoServers&) = delete;

  // Empty, or why the namespaces could not be made.
  const std::string& problem() const { return problem_; }
  // Moves the calling process, or thread, to a server. False when that fails.
  bool enter(int server) const;
  // Bytes that a server has sent to the other since it exists.
  uint64_t bytesSent(int server) const;

 private:
  bool runIn(int server, const std::string& command);

  int fds_[2] = {-1, -1};
  std::string problem_;
};

}  // namespace hccl::multirank
