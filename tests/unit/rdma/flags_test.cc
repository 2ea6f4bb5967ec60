// RdmaLink with flags in memory instead of completions of arrivals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/rdma/link_ends.h"
#include "tests/unit/rdma/setup_ends.h"

namespace hccl::transport::rdma {
namespace {

using ::testing::HasSubstr;

class FlagsTest : public LinkTest {
 protected:
  FlagsTest() { flags_ = true; }
  // Receive entries that are left of those posted first.
  size_t entriesOf(int end) { return verbs_.qpOf(ends_[end].queues->qp(0))->receives.size(); }
};

TEST_F(FlagsTest, FramesOfAllSizesWithoutACompletionOfAnArrival) {
  make({4, 256, 1});
  uint64_t sequence = 0;
  for (const size_t bytes : {0, 1, 199, 200, 201, 447, 448, 449, 1000, 5000, 70001}) {
    roundTrip(++sequence, bytes);
  }
  EXPECT_EQ(a().bytesSent(), b().bytesReceived());
  for (int end = 0; end < 2; ++end) {
    EXPECT_EQ(verbs_.calls["postRecv"], 2);
    EXPECT_EQ(entriesOf(end), ends_[end].queues->receiveEntries(0));
  }
}

TEST_F(FlagsTest, TenThousandFramesToAReceiverThatComesWhenItLikes) {
  make({4, 4096, 1});
  starve(true);
}

TEST_F(FlagsTest, StripesMayOvertakeEachOther) {
  make({8, 1024, 4}, 4096);
  verbs_.held = true;
  uint64_t sequence = 0;
  for (const size_t bytes : {10, 4096, 8192, 16384, 65536, 3, 100000}) roundTrip(++sequence, bytes);
}

TEST_F(FlagsTest, OneWakeUpForEachSleep) {
  make({4, 256, 1});
  ReceiveState receive;
  receive.expected = header(1, 0);
  sleepers_ = 1;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(b().receive(receive), Io::kIdle);
  sleepers_ = 0;
  const uint64_t before = verbs_.writes;
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    SendState send;
    send.header = header(sequence, 0);
    EXPECT_EQ(a().send(send), Io::kDone);
  }
  EXPECT_EQ(verbs_.writes - before, 3u + 1) << "one wake-up";
  uint64_t rings = 0;
  EXPECT_EQ(::read(ends_[1].queues->rails()[0].channel->fd, &rings, sizeof rings),
            static_cast<ssize_t>(sizeof rings));
  EXPECT_EQ(b().receive(receive), Io::kDone);
  for (uint64_t sequence = 2; sequence <= 3; ++sequence) {
    ReceiveState next;
    next.expected = header(sequence, 0);
    EXPECT_EQ(b().receive(next), Io::kDone);
  }
  EXPECT_EQ(entriesOf(1), ends_[1].queues->receiveEntries(0)) << "the entry is there again";
}

TEST_F(FlagsTest, ManySleepsNeedNoMoreReceiveEntriesThanThereAre) {
  make({4, 256, 1});
  std::mt19937 random(3);
  for (uint64_t sequence = 1; sequence <= 3000; ++sequence) {
    SendState send;
    send.header = header(sequence, 0);
    ReceiveState receive;
    receive.expected = send.header;
    bool sent = false, received = false;
    while (!sent || !received) {
      sleepers_ = random() % 2;
      if (random() % 2 == 0 && !sent) sent = a().send(send) == Io::kDone;
      if (random() % 2 == 0 && !received) received = b().receive(receive) == Io::kDone;
    }
  }
  EXPECT_EQ(verbs_.notReady, 0u);
  EXPECT_EQ(verbs_.overruns, 0u);
}

TEST_F(FlagsTest, ErrorsAreStillCompletions) {
  make({4, 256, 1});
  verbs_.sendStatus = IBV_WC_RETRY_EXC_ERR;
  SendState send;
  send.header = header(1, 0);
  (void)a().send(send);
  SendState next;
  next.header = header(2, 0);
  EXPECT_EQ(a().send(next), Io::kFailed);
  EXPECT_THAT(a().failure().text(), HasSubstr("status[12]"));
}

class FlagsSetupTest : public SetupTest {};

TEST_F(FlagsSetupTest, BothEndsMustNameTheirDevice) {
  using List = std::vector<std::string>;
  const std::tuple<List, List, bool> cases[] = {{{"fake0"}, {"other", "fake0"}, true},
                                                {{"all"}, {"fake0"}, true},
                                                {{"fake0"}, {}, false},
                                                {{}, {"all"}, false},
                                                {{"fake"}, {"all"}, false}};
  for (const auto& [one, other, wanted] : cases) {
    tools_[0].flagDevices = one;
    tools_[1].flagDevices = other;
    run();
    ASSERT_TRUE(complete()) << hosts_[0].failure << hosts_[1].failure;
    for (const FakeHost& host : hosts_) {
      const bool isTold = host.made[0].link->description.find(", flags") != std::string::npos;
      EXPECT_EQ(isTold, wanted);
    }
    drop();
  }
}

}  // namespace
}  // namespace hccl::transport::rdma
