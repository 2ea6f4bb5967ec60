// What long use shows: starved receivers, many connections, and that nothing is left of them.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "tests/roce/plain_connections.h"
#include "tests/roce/two_ranks.h"
#include "transport/rdma/rdma_transport.h"

namespace hccl::transport {
namespace {

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

// User memory is unmapped, and other memory appears at the same address: each operation reads and
// writes what is there now.
TEST_F(RoceLoad, MemoryThatIsMappedAnewIsWhatCounts) {
  open("remapped");
  constexpr size_t kBytes = 1 << 20;
  void* address = nullptr;
  for (int round = 1; round <= 4; ++round) {
    const int fixed = address == nullptr ? 0 : MAP_FIXED_NOREPLACE;
    void* made = ::mmap(address, 2 * kBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    ASSERT_NE(made, MAP_FAILED);
    ASSERT_TRUE(address == nullptr || made == address);
    address = made;
    auto* from = static_cast<std::byte*>(made);
    std::byte* to = from + kBytes;
    std::fill_n(from, kBytes, static_cast<std::byte>(round));
    carry(from, to, kBytes);
    if (HasFatalFailure()) return;
    const auto wrong = [&](std::byte value) { return value != static_cast<std::byte>(round); };
    EXPECT_EQ(std::count_if(to, to + kBytes, wrong), 0) << round;
    ASSERT_EQ(::munmap(made, 2 * kBytes), 0);
  }
  close();
}

TEST_F(RoceLoad, AThousandConnectionsLeaveNothing) {
  constexpr int kRounds = 1000;
  open("first");
  EXPECT_GT(roce::objectsOf(::getpid()).queuePairs, 0);
  close();
  EXPECT_EQ(objectsAtRest().queuePairs, 0);
  const size_t fds = openFds();
  for (int round = 0; round < kRounds; ++round) {
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

// How many connections the device itself survives, beside the test above.
TEST_F(RoceLoad, PlainConnectionsForComparison) {
  constexpr int kWanted = 1000;
  const uint64_t begin = monotonicNs();
  std::string trouble;
  const int done = roce::plainConnections(facts_.address, kWanted, &trouble);
  fmt::print("plain rdma_cm: {} of {} connections in {:.1f} s {}\n", done, kWanted,
             static_cast<double>(monotonicNs() - begin) * 1e-9, trouble);
  EXPECT_EQ(done, kWanted) << trouble;
  EXPECT_EQ(objectsAtRest().queuePairs, 0);
}

}  // namespace
}  // namespace hccl::transport
