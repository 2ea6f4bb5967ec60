// Strangers, floods, garbage, white lists, other versions.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <fstream>
#include <random>

#include "src/bootstrap/agent.h"
#include "tests/unit/bootstrap/rendezvous_fixture.h"

namespace hccl {
namespace {

using ::testing::HasSubstr;

#ifdef HCCL_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class Hostile : public RootFixture {
 protected:
  static UniqueFd dial(const RootHandle& root) {
    auto fd = connectTcp(root.address, Deadline::after(5));
    EXPECT_TRUE(fd.isOk()) << fd.status().text();
    return fd ? std::move(*fd) : UniqueFd();
  }
  static void expectClosed(int fd, double seconds) {
    char byte = 0;
    const Deadline deadline = Deadline::after(seconds);
    for (;;) {
      const Status status = waitReady(fd, POLLIN, deadline);
      ASSERT_TRUE(status.isOk()) << status.text();
      if (::recv(fd, &byte, 1, 0) <= 0) return;
    }
  }
  void expectJobWorks(const RootHandle& root, uint32_t count) {
    const auto results = joinAll(count, [&](uint32_t i) {
      return joinRoot(root, count, i, describe(i), "", Deadline::after(20));
    });
    for (const auto& result : results) expectWhole(result, count);
  }
};

TEST_F(Hostile, WrongSecretIsRefusedAndHarmless) {
  const RootHandle root = startRootFor();
  RootHandle forged = root;
  forged.secret[0] ^= 1;
  const Status status = joinRoot(forged, 2, 0, describe(0), "", Deadline::after(0.3)).status();
  EXPECT_EQ(status.code(), HCCL_E_UNAVAIL);
  EXPECT_EQ(status.eiCode(), 19);
  expectJobWorks(root, 2);
}

TEST_F(Hostile, AnAgentWithoutTheSecretCannotPretend) {
  const RootHandle root = startRootFor();
  const UniqueFd fd = dial(root);
  const std::string hello = bootstrap::encodeHello({kBootstrapVersion, {}});
  ASSERT_TRUE(sendAll(fd.get(), hello.data(), hello.size(), Deadline::after(5)).isOk());
  std::string answer(bootstrap::kHelloBytes + bootstrap::kProofBytes, '\0');
  ASSERT_TRUE(recvAll(fd.get(), answer.data(), answer.size(), Deadline::after(5)).isOk());
  // The server's own proof is of no use as the agent's.
  const std::string proof = answer.substr(bootstrap::kHelloBytes);
  ASSERT_TRUE(sendAll(fd.get(), proof.data(), proof.size(), Deadline::after(5)).isOk());
  expectClosed(fd.get(), 5);
  expectJobWorks(root, 2);
}

TEST_F(Hostile, GarbageIsDropped) {
  const RootHandle root = startRootFor();
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const UniqueFd fd = dial(root);
    std::string garbage(1 + random() % 300, '\0');
    for (char& byte : garbage) byte = static_cast<char>(random());
    if (i % 2 == 0) {
      // A right beginning, so that later stages see garbage too.
      const std::string hello = bootstrap::encodeHello({kBootstrapVersion, {}});
      garbage.insert(0, hello);
    }
    (void)::send(fd.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  }
  const UniqueFd http = dial(root);
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: test/1.0\r\n\r\n";
  (void)::send(http.get(), request.data(), request.size(), MSG_NOSIGNAL);
  expectClosed(http.get(), 5);
  expectJobWorks(root, 3);
}

TEST_F(Hostile, SilentStrangersAreDroppedAfterAWhile) {
  const RootHandle root = startRootFor(30);
  const UniqueFd fd = dial(root);
  expectClosed(fd.get(), 8);
  expectJobWorks(root, 1);
}

// An idle flood before the job and a busy one (open, close, open) while it starts.
TEST_F(Hostile, AFloodDoesNotStopAJob) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  const RootHandle root = startRootFor(30);
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 1000; ++i) {
    auto fd = startConnectTcp(root.address);
    if (fd) idle.push_back(std::move(*fd));
  }
  EXPECT_EQ(idle.size(), 1000u);
  std::atomic<bool> isOver{false};
  std::thread flood([&] {
    while (!isOver) {
      std::vector<UniqueFd> some;
      for (int i = 0; i < 100; ++i) {
        auto fd = startConnectTcp(root.address);
        if (fd) some.push_back(std::move(*fd));
      }
    }
  });
  const uint64_t begin = monotonicNs();
  expectJobWorks(root, 8);
  const double seconds = static_cast<double>(monotonicNs() - begin) * 1e-9;
  isOver = true;
  flood.join();
  EXPECT_LT(seconds, 10);
  RecordProperty("seconds", std::to_string(seconds));
}

TEST_F(Hostile, NoDescriptorLeftIsSurvived) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' own checks need descriptors";
  const RootHandle root = startRootFor(30);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  // The agents' own sockets fit, the server's accepts do not always.
  std::vector<UniqueFd> hoard;
  rlimit tight = old;
  tight.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  for (;;) {
    UniqueFd fd(::dup(0));
    if (!fd) break;
    hoard.push_back(std::move(fd));
  }
  hoard.pop_back();  // one descriptor: the agent can dial, the server cannot accept
  Result<Cluster> result = Status(HCCL_E_INTERNAL, "not run");
  std::thread agent([&] { result = joinRoot(root, 1, 0, describe(0), "", Deadline::after(20)); });
  hoard.clear();
  agent.join();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  expectWhole(result, 1);
}

TEST_F(Hostile, OtherVersionFailsBothSides) {
  const RootHandle root = startRootFor();
  const auto results = joinAll(2, [&](uint32_t i) {
    JoinOptions own;
    own.version = i == 1 ? kBootstrapVersion + 5 : kBootstrapVersion;
    return joinRoot(root, 2, i, describe(i), "", Deadline::after(20), own);
  });
  for (const auto& result : results) {
    EXPECT_EQ(result.status().eiCode(), 8) << result.status().text();
    EXPECT_THAT(result.status().text(), HasSubstr("is 6"));
  }
}

TEST_F(Hostile, AMemberThatBreaksTheProtocolFailsTheJob) {
  const RootHandle root = startRootFor();
  bootstrap::RootTarget target;
  target.addresses = {root.address};
  target.secret = root.secret;
  target.version = kBootstrapVersion;
  auto member = bootstrap::reachRoot(target, Deadline::after(5));
  ASSERT_TRUE(member.isOk());
  ASSERT_TRUE(member->send(bootstrap::FrameType::kJoin, "{\"rank\":", Deadline::after(5)).isOk());
  const Status status = joinRoot(root, 2, 0, describe(0), "", Deadline::after(10)).status();
  EXPECT_EQ(status.code(), HCCL_E_PARA) << status.text();
  EXPECT_THAT(status.text(), HasSubstr("not JSON"));
}

class WhitelistedRoot : public Hostile {
 protected:
  void useWhitelist(const std::string& text) {
    path_ = ::testing::TempDir() + "/whitelist" + std::to_string(::getpid()) + ".json";
    std::ofstream(path_) << text;
    env.whitelistDisabled = false;
    env.whitelistFile = path_;
  }
  void TearDown() override { std::remove(path_.c_str()); }
  std::string path_;
};

TEST_F(WhitelistedRoot, ListedHostsMayConnect) {
  useWhitelist(R"({"host_ip":["127.0.0.1"],"device_ip":[]})");
  expectJobWorks(startRootFor(), 2);
}

TEST_F(WhitelistedRoot, OthersMayNot) {
  useWhitelist(R"({"host_ip":["10.1.2.3"],"device_ip":["127.0.0.1"]})");
  const RootHandle root = startRootFor(1);
  const Status status = joinRoot(root, 1, 0, describe(0), "", Deadline::after(0.5)).status();
  EXPECT_EQ(status.code(), HCCL_E_TIMEOUT) << status.text();
  EXPECT_TRUE(rootsEnd());
}

TEST_F(WhitelistedRoot, AMissingFileIsAnEnvironmentError) {
  env.whitelistDisabled = false;
  env.whitelistFile = "/nonexistent/list.json";
  RootOptions rootOptions;
  rootOptions.environment = &env;
  EXPECT_EQ(startRoot(rootOptions).status().eiCode(), 1);
}

}  // namespace
}  // namespace hccl
