// How fast links are, and whether copies through their cells cost anything. Reports; judges
// nothing.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "src/runtime/arena.h"
#include "tests/roce/two_ranks.h"
#include "transport/rdma/rdma_link.h"

namespace hccl::transport {
namespace {

class RoceSpeed : public RoceLoad {
 protected:
  // Read once in a process.
  static void SetUpTestSuite() { ::setenv("HCCL_HOST_RDMA_DIRECT_KB", "16", 1); }
};

double megabytesPerSecond(size_t bytes, const std::function<void()>& work) {
  const uint64_t begin = monotonicNs();
  work();
  return static_cast<double>(bytes) * 1e3 / static_cast<double>(monotonicNs() - begin);
}

// Two threads that do nothing else.
TEST_F(RoceSpeed, BareLink) {
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

// Memory of the device goes without copies; other memory goes through cells.
class RoceMemoryPaths : public RoceSpeed {
 protected:
  double carry(const std::byte* data, std::byte* into, size_t bytes) {
    const Deadline deadline = Deadline::after(60);
    const uint64_t sequence = ++sequence_;
    const double speed = megabytesPerSecond(bytes, [&] {
      std::thread sink([&] {
        ReceiveState state;
        state.expected.sequence = sequence;
        state.expected.bytes = bytes;
        state.data = into;
        while (link(1)->message->receive(state) != Io::kDone && !deadline.expired()) {
        }
      });
      SendState state;
      state.header.sequence = sequence;
      state.header.bytes = bytes;
      state.data = data;
      while (link(0)->message->send(state) != Io::kDone && !deadline.expired()) {
      }
      sink.join();
    });
    EXPECT_FALSE(deadline.expired());
    return speed;
  }
  uint64_t sequence_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

TEST_F(RoceMemoryPaths, WithoutCopiesBesideThroughCells) {
  constexpr size_t kMost = 4 << 20;
  constexpr int kRounds = 7;
  open("memory");
  std::vector<std::byte> plain(2 * kMost, std::byte{1});
  runtime::Arena& arena = **runtime::Arena::ofDevice(0);
  auto* device = static_cast<std::byte*>(*arena.allocate(2 * kMost));
  const auto* sender = static_cast<rdma::RdmaLink*>(link(0)->message.get());
  for (const size_t bytes : {size_t{16} << 10, size_t{32} << 10, size_t{64} << 10,
                             size_t{128} << 10, size_t{256} << 10, size_t{1} << 20, kMost}) {
    std::vector<double> staged, direct;
    const uint64_t before = sender->framesWritten();
    for (int round = 0; round <= kRounds; ++round) {
      const double cells = carry(plain.data(), plain.data() + kMost, bytes);
      const double written = carry(device, device + kMost, bytes);
      if (round == 0) continue;  // registers
      staged.push_back(cells);
      direct.push_back(written);
    }
    EXPECT_EQ(sender->framesWritten() - before, static_cast<uint64_t>(kRounds) + 1);
    fmt::print("{} KiB: {:.1f} MB/s through cells, {:.1f} MB/s without copies: {:.2f} times\n",
               bytes >> 10, median(staged), median(direct), median(direct) / median(staged));
  }
  ASSERT_TRUE(arena.release(device).isOk());
  close();
}

}  // namespace
}  // namespace hccl::transport
