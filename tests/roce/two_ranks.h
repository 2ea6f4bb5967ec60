// Two ranks of this process that are joined by RDMA.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/clock.h"
#include "tests/roce/rdma_facts.h"
#include "tests/unit/transport/rank_process.h"
#include "transport/rdma/queue_set.h"

namespace hccl::transport {

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
  Link* link(uint32_t end) {
    return ranks_[end].commands().links()->find(1 - end, LinkKind::kCollective);
  }
  // One frame from end 0 to end 1.
  void carry(const std::byte* from, std::byte* to, size_t bytes) {
    SendState send;
    send.header.sequence = ++sequence_;
    send.header.bytes = bytes;
    send.data = from;
    ReceiveState receive;
    receive.expected = send.header;
    receive.data = to;
    bool sent = false, received = false;
    const Deadline deadline = Deadline::after(60);
    while (!(sent && received) && !deadline.expired()) {
      sent = sent || link(0)->message->send(send) == Io::kDone;
      received = received || link(1)->message->receive(receive) == Io::kDone;
    }
    ASSERT_TRUE(sent && received) << bytes;
  }
  uint64_t sequence_ = 0;  // of the latest frame
  roce::DeviceFacts facts_;
  LocalRank ranks_[2];
};

}  // namespace hccl::transport
