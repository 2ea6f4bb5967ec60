#include "src/base/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace hccl {
namespace {

const IpAddress kLocal = IpAddress::loopback(AF_INET);

struct TcpPair {
  UniqueFd client, server;
};

TcpPair connectedPair(const IpAddress& address = kLocal) {
  auto listener = listenTcp(address, 0);
  EXPECT_TRUE(listener.isOk()) << listener.status().text();
  const auto local = localAddress(listener->get());
  auto client = connectTcp(*local, Deadline::after(5));
  EXPECT_TRUE(client.isOk()) << client.status().text();
  auto accepted = acceptTcp(listener->get(), Deadline::after(5));
  EXPECT_TRUE(accepted.isOk());
  EXPECT_EQ(accepted->peer, *localAddress(client->get()));
  return {std::move(*client), std::move(accepted->fd)};
}

TEST(Socket, FlagsAndNoDelay) {
  const TcpPair pair = connectedPair();
  for (const int fd : {pair.client.get(), pair.server.get()}) {
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_TRUE(setNoDelay(fd).isOk());
    EXPECT_TRUE(setBufferSizes(fd, 1 << 16, 0).isOk());
  }
  EXPECT_EQ(*peerAddress(pair.server.get()), *localAddress(pair.client.get()));
}

TEST(Socket, LargeMessageArrivesWhole) {
  const TcpPair pair = connectedPair();
  std::vector<uint32_t> out(4 << 20), in(out.size());
  std::iota(out.begin(), out.end(), 7);
  std::thread sender([&] {
    EXPECT_TRUE(sendAll(pair.client.get(), out.data(), out.size() * 4, Deadline::after(20)).isOk());
  });
  EXPECT_TRUE(recvAll(pair.server.get(), in.data(), in.size() * 4, Deadline::after(20)).isOk());
  sender.join();
  EXPECT_EQ(in, out);
}

TEST(Socket, Ipv6) {
  auto listener = listenTcp(IpAddress::loopback(AF_INET6), 0);
  if (!listener) GTEST_SKIP() << "no IPv6 here: " << listener.status().text();
  const TcpPair pair = connectedPair(IpAddress::loopback(AF_INET6));
  EXPECT_TRUE(peerAddress(pair.server.get())->ip.isV6());
}

TEST(Socket, PortInUse) {
  auto first = listenTcp(kLocal, 0);
  ASSERT_TRUE(first.isOk());
  const uint16_t port = localAddress(first->get())->port;
  const auto second = listenTcp(kLocal, port);
  EXPECT_EQ(second.status().code(), HCCL_E_UNAVAIL);
  EXPECT_NE(second.status().text().find("127.0.0.1:" + std::to_string(port)), std::string::npos);
  first->reset();
  EXPECT_TRUE(listenTcp(kLocal, port).isOk());
}

TEST(Socket, RefusedConnectionNamesThePeer) {
  auto listener = listenTcp(kLocal, 0);
  const SocketAddress address = *localAddress(listener->get());
  listener->reset();
  const auto result = connectTcp(address, Deadline::after(5));
  EXPECT_EQ(result.status().code(), HCCL_E_TCP_CONNECT);
  EXPECT_NE(result.status().text().find(address.toString()), std::string::npos);
}

TEST(Socket, DeadlinesEndWaits) {
  auto listener = listenTcp(kLocal, 0);
  const uint64_t start = monotonicNs();
  EXPECT_EQ(acceptTcp(listener->get(), Deadline::after(0.05)).status().code(), HCCL_E_TIMEOUT);
  EXPECT_GE(monotonicNs() - start, 45000000u);
  EXPECT_EQ(acceptTcp(listener->get(), Deadline::after(0)).status().code(), HCCL_E_TIMEOUT);

  const TcpPair pair = connectedPair();
  char byte = 0;
  const Status status = recvAll(pair.server.get(), &byte, 1, Deadline::after(0.02), "rank 3");
  EXPECT_EQ(status.code(), HCCL_E_TIMEOUT);
  EXPECT_NE(status.text().find("rank 3"), std::string::npos);
  // A peer that does not read fills the buffers.
  const std::vector<char> much(32 << 20);
  EXPECT_EQ(sendAll(pair.client.get(), much.data(), much.size(), Deadline::after(0.05)).code(),
            HCCL_E_TIMEOUT);
}

TEST(Socket, ClosedPeer) {
  TcpPair pair = connectedPair();
  pair.client.reset();
  char bytes[4];
  const Status status = recvAll(pair.server.get(), bytes, 4, Deadline::after(5), "rank 1");
  EXPECT_EQ(status.code(), HCCL_E_TCP_TRANSFER);
  EXPECT_EQ(status.text(), "rank 1 closed the connection with 4 bytes missing");
  Status sent;
  const Deadline deadline = Deadline::after(5);
  while (sent.isOk() && !deadline.expired()) sent = sendAll(pair.server.get(), bytes, 4, deadline);
  EXPECT_EQ(sent.code(), HCCL_E_TCP_TRANSFER) << "and no SIGPIPE";
}

TEST(Socket, SourceAddress) {
  auto listener = listenTcp(kLocal, 0);
  const auto source = *IpAddress::parse("127.0.0.5");
  auto client = connectTcp(*localAddress(listener->get()), Deadline::after(5), source);
  ASSERT_TRUE(client.isOk()) << client.status().text();
  EXPECT_EQ(acceptTcp(listener->get(), Deadline::after(5))->peer.ip, source);
  EXPECT_EQ(
      connectTcp(*localAddress(listener->get()), Deadline::after(5), *IpAddress::parse("192.0.2.1"))
          .status()
          .code(),
      HCCL_E_TCP_CONNECT);
}

}  // namespace
}  // namespace hccl
