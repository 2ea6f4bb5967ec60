#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "src/base/mapping.h"
#include "src/base/socket.h"

namespace hccl {
namespace {

struct UnixPair {
  UniqueFd client, server;
};

UnixPair connectedPair() {
  auto listener = listenUnix("");
  EXPECT_TRUE(listener.isOk()) << listener.status().text();
  const auto name = unixName(listener->get());
  EXPECT_TRUE(name.isOk());
  auto client = connectUnix(*name, Deadline::after(5));
  EXPECT_TRUE(client.isOk()) << client.status().text();
  auto server = acceptUnix(listener->get(), Deadline::after(5));
  EXPECT_TRUE(server.isOk());
  return {std::move(*client), std::move(*server)};
}

TEST(UnixSocket, NamesAreAbstractAndExclusive) {
  const std::string name = "hccl-test-" + std::to_string(::getpid());
  auto listener = listenUnix(name);
  ASSERT_TRUE(listener.isOk());
  EXPECT_EQ(*unixName(listener->get()), name);
  EXPECT_EQ(listenUnix(name).status().code(), HCCL_E_UNAVAIL);
  listener->reset();
  EXPECT_EQ(connectUnix(name, Deadline::after(1)).status().code(), HCCL_E_TCP_CONNECT);
  EXPECT_EQ(listenUnix(std::string(200, 'n')).status().code(), HCCL_E_PARA);
}

TEST(UnixSocket, Credentials) {
  const UnixPair pair = connectedPair();
  const auto credentials = peerCredentials(pair.server.get());
  ASSERT_TRUE(credentials.isOk());
  EXPECT_EQ(credentials->pid, ::getpid());
  EXPECT_EQ(*peerUid(pair.client.get()), ::getuid());
  EXPECT_NE(::fcntl(pair.client.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(pair.client.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(UnixSocket, FullBacklogEndsAtTheDeadline) {
  auto listener = listenUnix("", 0);
  const std::string name = *unixName(listener->get());
  std::vector<UniqueFd> waiting;
  for (int i = 0; i < 8; ++i) {
    auto client = connectUnix(name, Deadline::after(0.05));
    if (!client) {
      EXPECT_EQ(client.status().code(), HCCL_E_TIMEOUT);
      return;
    }
    waiting.push_back(std::move(*client));
  }
  FAIL() << "the backlog never filled";
}

TEST(UnixSocket, PassedDescriptorsNameTheSameMemory) {
  const UnixPair pair = connectedPair();
  UniqueFd memory(::memfd_create("hccl-test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(memory.get(), 4096), 0);
  UniqueFd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fds[] = {memory.get(), other.get()};
  const char payload[] = "two descriptors";
  ASSERT_TRUE(sendFds(pair.client.get(), fds, payload, sizeof(payload), Deadline::after(5)).isOk());
  char received[sizeof(payload)];
  auto passed = recvFds(pair.server.get(), received, sizeof(received), Deadline::after(5));
  ASSERT_TRUE(passed.isOk()) << passed.status().text();
  EXPECT_STREQ(received, payload);
  ASSERT_EQ(passed->size(), 2u);
  EXPECT_NE(::fcntl((*passed)[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  auto here = Mapping::create(4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get());
  auto there = Mapping::create(4096, PROT_READ, MAP_SHARED, (*passed)[0].get());
  ASSERT_TRUE(here.isOk() && there.isOk());
  here->bytes()[100] = std::byte{42};
  EXPECT_EQ(there->bytes()[100], std::byte{42});
}

TEST(UnixSocket, LimitsOfPassing) {
  const UnixPair pair = connectedPair();
  const std::vector<int> nine(9, pair.client.get());
  const std::vector<int> eight(8, pair.client.get());
  char byte = 1;
  EXPECT_EQ(sendFds(pair.client.get(), nine, &byte, 1, Deadline::after(1)).code(), HCCL_E_PARA);
  EXPECT_EQ(sendFds(pair.client.get(), {}, &byte, 1, Deadline::after(1)).code(), HCCL_E_PARA);
  EXPECT_EQ(sendFds(pair.client.get(), eight, &byte, 0, Deadline::after(1)).code(), HCCL_E_PARA);
  ASSERT_TRUE(sendFds(pair.client.get(), eight, &byte, 1, Deadline::after(1)).isOk());
  EXPECT_EQ(recvFds(pair.server.get(), &byte, 1, Deadline::after(1))->size(), 8u);
  EXPECT_EQ(recvFds(pair.server.get(), &byte, 1, Deadline::after(0.02)).status().code(),
            HCCL_E_TIMEOUT);
}

}  // namespace
}  // namespace hccl
