// Two links of a fake fabric that are joined.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "tests/unit/rdma/fake_verbs.h"
#include "transport/rdma/rdma_link.h"

namespace hccl::transport::rdma {

inline std::vector<std::byte> pattern(size_t bytes, unsigned seed) {
  std::vector<std::byte> made(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    made[i] = static_cast<std::byte>((i * 2654435761U + seed) >> 11);
  }
  return made;
}

inline FrameHeader header(uint64_t sequence, uint64_t bytes) {
  FrameHeader made;
  made.sequence = sequence;
  made.signature = 9;
  made.bytes = bytes;
  return made;
}

class LinkTest : public ::testing::Test {
 protected:
  void make(const RingShape& shape, uint64_t stripe = 512 * 1024, uint64_t direct = UINT64_MAX) {
    FakePort port;
    port.gids = {{"10.0.0.1"}};
    fake_ = verbs_.addDevice("fake0", {port});
    device_ = *Device::of(&verbs_, nullptr, &fake_->context);
    for (auto& end : ends_) {
      auto made = QueueSet::make({device_}, shape);
      ASSERT_TRUE(made.isOk()) << made.status().text();
      end.queues = *made;
    }
    for (size_t i = 0; i < shape.queuePairs; ++i) {
      FakeVerbs::joinQps(verbs_.qpOf(ends_[0].queues->qp(i)), verbs_.qpOf(ends_[1].queues->qp(i)));
      for (auto& end : ends_) {
        ASSERT_TRUE(end.queues->postReceives(i, end.queues->receiveEntries(i)).isOk());
      }
    }
    for (int i = 0; i < 2; ++i) {
      RdmaLink::Settings settings;
      settings.remoteRing = ends_[1 - i].queues->ring();
      settings.remoteKeys = {ends_[1 - i].queues->rails()[0].region->rkey};
      settings.stripeBytes = stripe;
      settings.directBytes = direct;
      settings.flags = flags_;
      settings.sleepers = &sleepers_;
      RdmaLink::Names names;
      names.peer = static_cast<uint32_t>(1 - i);
      names.communicator = "comm";
      names.local = {"server-a", 3, {"10.0.0.1"}};
      names.remote = {"server-b", 4, {"10.0.0.2"}};
      ends_[i].link = std::make_unique<RdmaLink>(ends_[i].queues, settings, names);
    }
  }
  RdmaLink& a() { return *ends_[0].link; }
  RdmaLink& b() { return *ends_[1].link; }

  // Until both are done, each call as it comes.
  void pump(SendState& send, ReceiveState& receive) {
    bool sent = false, received = false;
    for (int i = 0; i < 100000 && !(sent && received); ++i) {
      if (!sent) sent = a().send(send) == Io::kDone;
      if (verbs_.held) verbs_.deliver(i % 2 == 0);
      if (!received) received = b().receive(receive) == Io::kDone;
    }
    ASSERT_TRUE(sent && received) << a().failure().text() << b().failure().text();
  }
  void roundTrip(uint64_t sequence, size_t bytes) {
    const auto data = pattern(bytes, static_cast<unsigned>(sequence));
    std::vector<std::byte> into(bytes + 8, std::byte{0x55});
    SendState send;
    send.header = header(sequence, bytes);
    send.data = data.data();
    ReceiveState receive;
    receive.expected = send.header;
    receive.data = into.data();
    pump(send, receive);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), into.begin())) << bytes;
    for (size_t i = bytes; i < into.size(); ++i) EXPECT_EQ(into[i], std::byte{0x55});
  }

  // Ten thousand frames from a to b, which comes when it likes, and may look at the header first.
  void starve(bool peeks) {
    std::mt19937 random(7);
    for (uint64_t sequence = 1; sequence <= 10000; ++sequence) {
      const size_t bytes = random() % 9000;
      const auto data = pattern(bytes, static_cast<unsigned>(sequence));
      std::vector<std::byte> into(bytes);
      SendState send;
      send.header = header(sequence, bytes);
      send.data = data.data();
      ReceiveState receive;
      receive.expected = send.header;
      receive.data = into.data();
      FrameHeader next;
      bool sent = false, received = false;
      while (!sent || !received) {
        if (random() % 3 != 0 && !sent) sent = a().send(send) == Io::kDone;
        const bool looks = peeks && random() % 7 == 0 && !received && receive.received == 0;
        if (looks && b().peek(next)) {
          ASSERT_EQ(next.sequence, sequence);
        }
        if (random() % 5 == 0 && !received) received = b().receive(receive) == Io::kDone;
      }
      ASSERT_EQ(data, into);
    }
    EXPECT_EQ(verbs_.notReady, 0u) << "sends that met no receive entry";
    EXPECT_EQ(verbs_.overruns, 0u) << "of completion queues";
  }

  struct End {
    std::shared_ptr<QueueSet> queues;
    std::unique_ptr<RdmaLink> link;
  };
  bool flags_ = false;  // before make()
  FakeVerbs verbs_;
  FakeDevice* fake_ = nullptr;
  std::shared_ptr<Device> device_;
  End ends_[2];
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace hccl::transport::rdma
