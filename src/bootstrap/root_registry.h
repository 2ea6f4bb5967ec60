// RootRegistry: the servers of this process. They end at process exit, and a forked child closes
// its copies of their descriptors.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "src/bootstrap/root_server.h"

namespace hccl::bootstrap {

class RootRegistry {
 public:
  static RootRegistry& instance();
  ~RootRegistry();
  RootRegistry(const RootRegistry&) = delete;
  RootRegistry& operator=(const RootRegistry&) = delete;

  // Starts a server and keeps it until it has finished.
  Status start(RootServerOptions options);
  // Ends the servers at these ports that only answer late ranks, so that the ports become free.
  void stopLingering(const IpAddress& ip, std::span<const uint16_t> ports);
  // Whether a server is at work at this address; those that have finished are removed.
  bool isLive(const SocketAddress& address);

 private:
  RootRegistry();
  void removeFinished();
  static void beforeFork();
  static void afterForkInParent();
  static void afterForkInChild();

  std::mutex mutex_;
  std::vector<std::shared_ptr<RootServer>> servers_;
};

}  // namespace hccl::bootstrap
