// Helpers for the tests of the rendezvous: an environment on the loopback interface, ranks as
// threads.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "src/base/env.h"
#include "src/base/socket.h"
#include "src/bootstrap/rendezvous.h"
#include "src/bootstrap/root_info.h"

namespace hccl {

// HCCL_SOCKET_IFNAME=lo and any free port.
inline Environment loopbackEnvironment() {
  Environment env;
  env.socketIfname = IfnameFilter::parse("=lo");
  env.hostPortRange = PortRanges::parse("auto");
  env.connectTimeoutSec = 20;
  return env;
}

inline RankInfo describe(uint32_t rank) {
  RankInfo info;
  info.serverId = "127.0.0.1";
  info.hostIp = "127.0.0.1";
  info.deviceId = rank;
  info.hostNic = true;
  info.endpoint = "endpoint of " + std::to_string(rank);
  return info;
}

class RootFixture : public ::testing::Test {
 protected:
  RootHandle startRootFor(double timeoutSeconds = 20) {
    RootOptions rootOptions;
    rootOptions.environment = &env;
    rootOptions.timeoutSeconds = timeoutSeconds;
    auto info = startRoot(rootOptions);
    EXPECT_TRUE(info.isOk()) << info.status().text();
    auto handle = info ? decodeRootInfo(*info) : info.status();
    EXPECT_TRUE(handle.isOk()) << handle.status().text();
    if (!handle) return RootHandle{};
    roots_.push_back(handle->address);
    return *handle;
  }

  // Waits until every server that this test started has ended.
  bool rootsEnd(double seconds = 10) const {
    const Deadline deadline = Deadline::after(seconds);
    const auto isAnyLive = [&] { return std::any_of(roots_.begin(), roots_.end(), isRootLive); };
    while (isAnyLive()) {
      if (deadline.expired()) return false;
      std::this_thread::yield();
    }
    return true;
  }

  Environment env = loopbackEnvironment();
  JoinOptions options;

 private:
  std::vector<SocketAddress> roots_;
};

// Runs join(i) in a thread for each i and collects the results.
template <typename Join>
std::vector<Result<Cluster>> joinAll(uint32_t count, Join join) {
  std::vector<Result<Cluster>> results(count, Status(HCCL_E_INTERNAL, "not run"));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { results[i] = join(i); });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

inline void expectWhole(const Result<Cluster>& result, uint32_t count) {
  ASSERT_TRUE(result.isOk()) << result.status().text();
  ASSERT_EQ(result->size(), count);
  for (uint32_t rank = 0; rank < count; ++rank) {
    RankInfo expected = describe(rank);
    expected.rank = rank;
    EXPECT_EQ(result->ranks[rank], expected);
  }
}

}  // namespace hccl
