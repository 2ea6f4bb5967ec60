// What long use shows: starved receivers, many connections, and that nothing is left of them.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "tests/roce/rdma_facts.h"
#include "tests/unit/transport/rank_process.h"
#include "transport/rdma/queue_set.h"
#include "transport/rdma/rdma_transport.h"

namespace hccl::transport {
namespace {

// Two ranks of this process: with "rdma" as the only transport they meet through the device.
class RoceLoad : public ::testing::Test {
 protected:
  void SetUp() override {
    facts_ = roce::usableDevice();
    ASSERT_FALSE(facts_.address.empty()) << "no active RDMA port with an address";
  }
  void open(const std::string& name) {
    const std::vector<Rank*> ranks = {&ranks_[0], &ranks_[1]};
    const auto cards = exchangeCards(ranks, facts_.address);
    for (uint32_t i = 0; i < 2; ++i) {
      ASSERT_EQ(makeRankLinks(ranks[i], cards, i, "rdma", "secret", name), "ok");
    }
    auto one = ranks_[0].start("connect 1 0 60");
    auto other = ranks_[1].start("connect 0 0 60");
    ASSERT_EQ(one.get(), "ok");
    ASSERT_EQ(other.get(), "ok");
  }
  void close() {
    EXPECT_EQ(ranks_[0].run("destroy"), "ok");
    EXPECT_EQ(ranks_[1].run("destroy"), "ok");
  }
  roce::DeviceFacts facts_;
  LocalRank ranks_[2];
};

// Objects of queue pairs are given back on the control thread, so the last ones may need a moment.
roce::Objects objectsAtRest() {
  const Deadline deadline = Deadline::after(20);
  roce::Objects objects = roce::objectsOf(::getpid());
  while (objects.queuePairs != 0 && !deadline.expired()) objects = roce::objectsOf(::getpid());
  return objects;
}

TEST_F(RoceLoad, AReceiverThatComesLateNeverMakesTheDeviceRepeat) {
  rdma::proposedShape() = {4, 4096, 1};
  open("starved");
  Link* links[2] = {ranks_[0].commands().links()->find(1, LinkKind::kCollective),
                    ranks_[1].commands().links()->find(0, LinkKind::kCollective)};
  const uint64_t notReady = facts_.counter("rcvd_rnr_err") + facts_.counter("send_rnr_err");
  const uint64_t frames = 10000;
  const auto sizeOf = [](uint64_t sequence) { return sequence * 2654435761U % 9000; };
  const auto byteOf = [](uint64_t sequence, size_t i) {
    return static_cast<std::byte>(sequence * 31 + i);
  };
  std::string sendError;
  std::thread sender([&] {
    std::vector<std::byte> data(9000);
    for (uint64_t sequence = 1; sequence <= frames && sendError.empty(); ++sequence) {
      SendState state;
      state.header.sequence = sequence;
      state.header.bytes = sizeOf(sequence);
      for (size_t i = 0; i < state.header.bytes; ++i) data[i] = byteOf(sequence, i);
      state.data = data.data();
      const Deadline deadline = Deadline::after(60);
      Io io = Io::kIdle;
      while (io != Io::kDone) {
        io = links[0]->message->send(state);
        if (io == Io::kFailed) sendError = links[0]->message->failure().text();
        if (deadline.expired()) sendError = "timeout";
        if (!sendError.empty()) return;
        if (io == Io::kIdle) std::this_thread::yield();
      }
    }
  });
  std::mt19937 random(3);
  std::vector<std::byte> into(9000);
  std::string error;
  for (uint64_t sequence = 1; sequence <= frames && error.empty(); ++sequence) {
    if (random() % 16 == 0) {  // looks away
      const uint64_t until = monotonicNs() + random() % 2'000'000;
      while (monotonicNs() < until) std::this_thread::yield();
    }
    ReceiveState state;
    state.expected.sequence = sequence;
    state.expected.bytes = sizeOf(sequence);
    state.data = into.data();
    const Deadline deadline = Deadline::after(60);
    Io io = Io::kIdle;
    while (io != Io::kDone && error.empty()) {
      io = links[1]->message->receive(state);
      if (io == Io::kFailed) error = links[1]->message->failure().text();
      if (io == Io::kMismatch) error = "mismatch";
      if (deadline.expired()) error = "timeout";
      if (io == Io::kIdle) std::this_thread::yield();
    }
    for (size_t i = 0; i < state.expected.bytes && error.empty(); ++i) {
      if (into[i] != byteOf(sequence, i)) error = fmt::format("frame {} byte {}", sequence, i);
    }
  }
  sender.join();
  EXPECT_EQ(error, "");
  EXPECT_EQ(sendError, "");
  EXPECT_EQ(facts_.counter("rcvd_rnr_err") + facts_.counter("send_rnr_err"), notReady);
  close();
  rdma::proposedShape() = {};
}

TEST_F(RoceLoad, ManyCommunicatorsLeaveNothing) {
  const int rounds = std::getenv("HCCL_TEST_FULL") != nullptr ? 1000 : 200;
  open("first");
  EXPECT_GT(roce::objectsOf(::getpid()).queuePairs, 0);
  close();
  EXPECT_EQ(objectsAtRest().queuePairs, 0);
  const size_t fds = openFds();
  for (int round = 0; round < rounds; ++round) {
    open(fmt::format("round-{}", round));
    if (HasFatalFailure()) return;
    close();
  }
  const roce::Objects left = objectsAtRest();
  EXPECT_EQ(left.queuePairs, 0);
  EXPECT_EQ(left.regions, 0);
  EXPECT_EQ(left.completionQueues, 0);
  EXPECT_LE(openFds(), fds);
}

// Reports; judges nothing. Two threads that do nothing else.
TEST_F(RoceLoad, Speed) {
  open("speed");
  MessageLink* links[2] = {
      ranks_[0].commands().links()->find(1, LinkKind::kCollective)->message.get(),
      ranks_[1].commands().links()->find(0, LinkKind::kCollective)->message.get()};
  const Deadline deadline = Deadline::after(60);
  std::vector<std::byte> buffers[2] = {std::vector<std::byte>(1 << 22),
                                       std::vector<std::byte>(1 << 22)};
  const auto send = [&](int end, uint64_t sequence, size_t bytes) {
    SendState state;
    state.header.sequence = sequence;
    state.header.bytes = bytes;
    state.data = buffers[end].data();
    while (links[end]->send(state) != Io::kDone && !deadline.expired()) {
    }
  };
  const auto receive = [&](int end, uint64_t sequence, size_t bytes) {
    ReceiveState state;
    state.expected.sequence = sequence;
    state.expected.bytes = bytes;
    state.data = buffers[end].data();
    while (links[end]->receive(state) != Io::kDone && !deadline.expired()) {
    }
  };
  constexpr uint64_t kRounds = 500;
  std::thread echo([&] {
    for (uint64_t i = 0; i < kRounds; ++i) {
      receive(1, i, 8);
      send(1, i, 8);
    }
  });
  std::vector<uint64_t> times;
  for (uint64_t i = 0; i < kRounds; ++i) {
    const uint64_t begin = monotonicNs();
    send(0, i, 8);
    receive(0, i, 8);
    times.push_back(monotonicNs() - begin);
  }
  echo.join();
  std::sort(times.begin(), times.end());
  fmt::print("8 bytes, one way: median {:.1f} us, least {:.1f} us\n",
             static_cast<double>(times[kRounds / 2]) / 2000, static_cast<double>(times[0]) / 2000);
  constexpr uint64_t kFrames = 40;
  constexpr size_t kBytes = 1 << 20;
  const uint64_t begin = monotonicNs();
  std::thread sink([&] {
    for (uint64_t i = 0; i < kFrames; ++i) receive(1, i, kBytes);
  });
  for (uint64_t i = 0; i < kFrames; ++i) send(0, i, kBytes);
  sink.join();
  fmt::print(
      "1 MiB frames, one direction: {:.1f} MB/s\n",
      static_cast<double>(kFrames * kBytes) * 1e3 / static_cast<double>(monotonicNs() - begin));
  const auto exchange = [&](int end) {
    for (uint64_t i = 0; i < kFrames; ++i) {
      SendState out;
      ReceiveState in;
      out.header.sequence = in.expected.sequence = 1000 + i;
      out.header.bytes = in.expected.bytes = kBytes;
      out.data = buffers[end].data();
      in.data = buffers[end].data() + kBytes;
      bool sent = false, received = false;
      while (!(sent && received) && !deadline.expired()) {
        sent = sent || links[end]->send(out) == Io::kDone;
        received = received || links[end]->receive(in) == Io::kDone;
      }
    }
  };
  const uint64_t both = monotonicNs();
  std::thread other([&] { exchange(1); });
  exchange(0);
  other.join();
  fmt::print(
      "1 MiB frames, both directions at once: {:.1f} MB/s in each\n",
      static_cast<double>(kFrames * kBytes) * 1e3 / static_cast<double>(monotonicNs() - both));
  EXPECT_FALSE(deadline.expired());
  close();
}

}  // namespace
}  // namespace hccl::transport
