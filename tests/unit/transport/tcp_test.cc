// TcpLink over real sockets: headers in pieces, frames read ahead, stripes, mismatches, ends.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "src/base/socket.h"
#include "transport/tcp/tcp_link.h"

namespace hccl::transport {
namespace {

using ::testing::HasSubstr;

struct Sockets {
  std::vector<UniqueFd> a, b;
};

Sockets makeSockets(size_t streams) {
  Sockets made;
  auto listener = listenTcp(IpAddress::loopback(AF_INET), 0);
  const auto address = localAddress(listener->get());
  for (size_t i = 0; i < streams; ++i) {
    auto one = connectTcp(*address, Deadline::after(5));
    auto other = acceptTcp(listener->get(), Deadline::after(5));
    made.a.push_back(std::move(*one));
    made.b.push_back(std::move(other->fd));
  }
  return made;
}

TcpLink::Names names() {
  return {3, "10.1.2.3:4", "comm"};
}

FrameHeader header(uint64_t sequence, uint64_t bytes) {
  FrameHeader made;
  made.epoch = 2;
  made.sequence = sequence;
  made.signature = 0xabcdef;
  made.count = bytes / 4;
  made.step = 5;
  made.bytes = bytes;
  return made;
}

std::vector<std::byte> pattern(size_t bytes, unsigned seed) {
  std::vector<std::byte> made(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    made[i] = static_cast<std::byte>((i * 2654435761U + seed) >> 13);
  }
  return made;
}

// Calls receive() until it says something final.
Io receiveAll(TcpLink& link, ReceiveState& state) {
  const Deadline deadline = Deadline::after(10);
  for (;;) {
    const Io io = link.receive(state);
    if (io == Io::kDone || io == Io::kFailed || io == Io::kMismatch) return io;
    if (deadline.expired()) return Io::kIdle;
  }
}

class Stripes : public ::testing::TestWithParam<size_t> {};

TEST_P(Stripes, BothDirectionsAtOnce) {
  Sockets sockets = makeSockets(GetParam());
  TcpLink a(names(), std::move(sockets.a), -1), b(names(), std::move(sockets.b), -1);
  uint64_t sequence = 0, total = 0;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{47}, size_t{16384}, size_t{65536},
                             kStripeBytes - 1, kStripeBytes, kStripeBytes + 1, size_t{5 << 20}}) {
    ++sequence;
    total += bytes;
    const auto fromA = pattern(bytes, 1), fromB = pattern(bytes, 2);
    std::vector<std::byte> toA(bytes + 8, std::byte{0x55}), toB(bytes + 8, std::byte{0x55});
    SendState sendA{header(sequence, bytes), fromA.data(), 0};
    SendState sendB{header(sequence, bytes), fromB.data(), 0};
    ReceiveState receiveA{header(sequence, bytes), toA.data(), 0, {}};
    ReceiveState receiveB{header(sequence, bytes), toB.data(), 0, {}};
    bool done[4] = {};
    const Deadline deadline = Deadline::after(20);
    while (!(done[0] && done[1] && done[2] && done[3])) {
      ASSERT_FALSE(deadline.expired()) << bytes;
      if (!done[0]) done[0] = a.send(sendA) == Io::kDone;
      if (!done[1]) done[1] = b.send(sendB) == Io::kDone;
      if (!done[2]) done[2] = a.receive(receiveA) == Io::kDone;
      if (!done[3]) done[3] = b.receive(receiveB) == Io::kDone;
      ASSERT_TRUE(a.failure().isOk()) << a.failure().text();
      ASSERT_TRUE(b.failure().isOk()) << b.failure().text();
    }
    EXPECT_TRUE(std::equal(fromB.begin(), fromB.end(), toA.begin())) << bytes;
    EXPECT_TRUE(std::equal(fromA.begin(), fromA.end(), toB.begin())) << bytes;
    EXPECT_EQ(toA[bytes], std::byte{0x55});
    EXPECT_EQ(toB[bytes], std::byte{0x55});
    EXPECT_EQ(receiveA.got.sequence, sequence);
  }
  EXPECT_EQ(a.bytesSent(), total);
  EXPECT_EQ(a.bytesReceived(), total);
}
INSTANTIATE_TEST_SUITE_P(All, Stripes, ::testing::Values(1, 2, 3, 5));

TEST(TcpLinkTest, ManySmallFramesAreReadAhead) {
  Sockets sockets = makeSockets(1);
  TcpLink a(names(), std::move(sockets.a), -1), b(names(), std::move(sockets.b), -1);
  constexpr size_t kFrames = 100, kBytes = 300;
  for (uint64_t i = 0; i < kFrames; ++i) {
    const auto data = pattern(kBytes, static_cast<unsigned>(i));
    SendState send{header(i, kBytes), data.data(), 0};
    ASSERT_EQ(a.send(send), Io::kDone);
  }
  for (uint64_t i = 0; i < kFrames; ++i) {
    std::vector<std::byte> into(kBytes);
    ReceiveState receive{header(i, kBytes), into.data(), 0, {}};
    ASSERT_EQ(receiveAll(b, receive), Io::kDone);
    EXPECT_EQ(into, pattern(kBytes, static_cast<unsigned>(i))) << i;
  }
}

TEST(TcpLinkTest, BytesMayTrickle) {
  Sockets sockets = makeSockets(1);
  const int raw = sockets.a[0].get();
  TcpLink b(names(), std::move(sockets.b), -1);
  const FrameHeader head = header(1, 10);
  std::vector<std::byte> wire(sizeof head + 10);
  const auto data = pattern(10, 9);
  std::memcpy(wire.data(), &head, sizeof head);
  std::memcpy(wire.data() + sizeof head, data.data(), 10);
  std::vector<std::byte> into(10);
  ReceiveState receive{head, into.data(), 0, {}};
  EXPECT_EQ(b.receive(receive), Io::kIdle);
  for (size_t i = 0; i < wire.size(); ++i) {
    ASSERT_EQ(::send(raw, &wire[i], 1, 0), 1);
    const Deadline deadline = Deadline::after(5);
    Io io;
    while ((io = b.receive(receive)) == Io::kIdle) ASSERT_FALSE(deadline.expired());
    EXPECT_EQ(io, i + 1 == wire.size() ? Io::kDone : Io::kProgress);
    EXPECT_EQ(receive.received, i + 1);
  }
  EXPECT_EQ(into, data);
}

TEST(TcpLinkTest, AnyDifferenceIsAMismatchAndNothingLands) {
  const auto differ = std::vector<std::function<void(FrameHeader&)>>{
      [](FrameHeader& h) { ++h.epoch; },     [](FrameHeader& h) { ++h.sequence; },
      [](FrameHeader& h) { ++h.signature; }, [](FrameHeader& h) { ++h.count; },
      [](FrameHeader& h) { ++h.step; },      [](FrameHeader& h) { h.bytes = 32; },
  };
  for (const auto& change : differ) {
    Sockets sockets = makeSockets(1);
    TcpLink a(names(), std::move(sockets.a), -1), b(names(), std::move(sockets.b), -1);
    const auto data = pattern(64, 1);
    SendState send{header(1, 64), data.data(), 0};
    ASSERT_EQ(a.send(send), Io::kDone);
    std::vector<std::byte> into(64, std::byte{0x55});
    ReceiveState receive{header(1, 64), into.data(), 0, {}};
    change(receive.expected);
    EXPECT_EQ(receiveAll(b, receive), Io::kMismatch);
    EXPECT_EQ(receive.got.bytes, 64U);
    EXPECT_EQ(receive.got.sequence, 1U);
    EXPECT_EQ(into, std::vector<std::byte>(64, std::byte{0x55}));
  }
}

TEST(TcpLinkTest, GarbageFails) {
  Sockets sockets = makeSockets(1);
  TcpLink b(names(), std::move(sockets.b), -1);
  const std::string garbage(100, 'x');
  ASSERT_EQ(::send(sockets.a[0].get(), garbage.data(), garbage.size(), 0), 100);
  std::vector<std::byte> into(64);
  ReceiveState receive{header(1, 64), into.data(), 0, {}};
  EXPECT_EQ(receiveAll(b, receive), Io::kFailed);
  EXPECT_EQ(b.failure().culprit(), 3);
  EXPECT_THAT(b.failure().text(), HasSubstr("10.1.2.3:4"));
}

TEST(TcpLinkTest, EndAndResetNameThePeer) {
  for (const bool reset : {false, true}) {
    Sockets sockets = makeSockets(1);
    TcpLink b(names(), std::move(sockets.b), -1);
    if (reset) {
      const linger hard{1, 0};
      ::setsockopt(sockets.a[0].get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    sockets.a[0].reset();
    std::vector<std::byte> into(64);
    ReceiveState receive{header(1, 64), into.data(), 0, {}};
    EXPECT_EQ(receiveAll(b, receive), Io::kFailed);
    EXPECT_EQ(b.receive(receive), Io::kFailed);
    EXPECT_EQ(b.failure().code(), HCCL_E_TCP_TRANSFER);
    EXPECT_EQ(b.failure().eiCode(), 12);
    EXPECT_EQ(b.failure().culprit(), 3);
    EXPECT_THAT(b.failure().text(), HasSubstr("Remote rank: 3"));
    EXPECT_THAT(b.failure().text(), HasSubstr("10.1.2.3:4"));
    EXPECT_THAT(b.failure().text(),
                HasSubstr(reset ? "Connection reset by peer" : "the peer closed the connection"));
  }
}

}  // namespace
}  // namespace hccl::transport
