// How fast links are, and whether copies through their cells cost anything. Reports; judges
// nothing.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "src/base/mapping.h"
#include "tests/roce/two_ranks.h"
#include "transport/rdma/rdma_link.h"

namespace hccl::transport {
namespace {

class RoceSpeed : public RoceLoad {};

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

// The ways that user memory can take to the other side.
class RoceMemoryPaths : public RoceSpeed {
 protected:
  // Writes all of `from` to the other end's memory without any copy; as much is under way as the
  // ring of cells holds. False when the device does not finish it.
  bool writeDirectly(const ibv_mr* from, const ibv_mr* to) {
    constexpr uint64_t kMine = 1ULL << 62;  // completions of the link itself have other numbers
    const auto& queues = static_cast<rdma::RdmaLink*>(link(0)->message.get())->queues();
    const size_t piece = queues.shape().cellBytes, pieces = from->length / piece;
    size_t posted = 0, completed = 0;
    const Deadline deadline = Deadline::after(60);
    while (completed < pieces) {
      if (deadline.expired()) return false;
      if (posted < pieces && posted - completed < queues.shape().depth) {
        ibv_sge place{reinterpret_cast<uint64_t>(from->addr) + posted * piece,
                      static_cast<uint32_t>(piece), from->lkey};
        ibv_send_wr request{};
        request.wr_id = kMine;
        request.opcode = IBV_WR_RDMA_WRITE;
        request.sg_list = &place;
        request.num_sge = 1;
        request.send_flags = IBV_SEND_SIGNALED;
        request.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(to->addr) + posted * piece;
        request.wr.rdma.rkey = to->rkey;
        ibv_send_wr* bad = nullptr;
        if (queues.verbs()->postSend(queues.qp(0), &request, &bad) != 0) return false;
        ++posted;
      }
      ibv_wc done[8];
      const int count = queues.verbs()->pollCq(queues.rails()[0].cq.get(), 8, done);
      for (int i = 0; i < count; ++i) {
        if (done[i].status != IBV_WC_SUCCESS) return false;
        if (done[i].wr_id == kMine) ++completed;
      }
    }
    return true;
  }
  void writeThroughCells(const std::byte* data, std::byte* into, size_t bytes, uint64_t sequence) {
    const Deadline deadline = Deadline::after(60);
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
    ASSERT_FALSE(deadline.expired());
  }
};

TEST_F(RoceMemoryPaths, CopiesThroughCellsBesideRegisteredMemory) {
  constexpr size_t kBytes = 4 << 20;
  constexpr int kRounds = 5;
  open("memory");
  auto made = Mapping::create(2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  ASSERT_TRUE(made.isOk());
  std::byte* source = made->bytes();
  std::byte* target = source + kBytes;
  std::memset(source, 7, kBytes);
  std::memset(target, 1, kBytes);
  rdma::VerbsApi* verbs = rdma::realVerbs();
  const auto& queues = static_cast<rdma::RdmaLink*>(link(0)->message.get())->queues();
  ibv_pd* pd = queues.rails()[0].device->pd();
  const auto registered = [&](std::byte* at) {
    return rdma::MemoryRegion(
        verbs, verbs->regMr(pd, at, kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  };
  std::vector<double> copies, staged, direct, fresh;
  for (int round = 0; round < kRounds; ++round) {
    copies.push_back(megabytesPerSecond(kBytes, [&] { std::memcpy(target, source, kBytes); }));
    staged.push_back(megabytesPerSecond(
        kBytes, [&] { writeThroughCells(source, target, kBytes, static_cast<uint64_t>(round)); }));
  }
  for (int round = 0; round < kRounds; ++round) {
    fresh.push_back(megabytesPerSecond(2 * kBytes, [&] {
      const auto one = registered(source), other = registered(target);
      ASSERT_TRUE(one && other);
    }));
    const auto from = registered(source), to = registered(target);
    ASSERT_TRUE(from && to);
    bool finished = false;
    const double speed =
        megabytesPerSecond(kBytes, [&] { finished = writeDirectly(from.get(), to.get()); });
    if (finished) direct.push_back(speed);
  }
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
  };
  fmt::print("copy in memory: {:.0f} MB/s; registering and deregistering: {:.0f} MB/s\n",
             median(copies), median(fresh));
  fmt::print("4 MiB, copied through cells: {:.1f} MB/s\n", median(staged));
  fmt::print("4 MiB, registered memory to registered memory: {:.1f} MB/s\n", median(direct));
  close();
}

}  // namespace
}  // namespace hccl::transport
