// RdmaLink between two queue sets of a fake fabric: frames, credits, stripes, errors.
#include "transport/rdma/rdma_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rdma/link_ends.h"

namespace hccl::transport::rdma {
namespace {

using ::testing::HasSubstr;

TEST_F(LinkTest, FramesOfAllSizes) {
  make({4, 256, 1});
  uint64_t sequence = 0;
  for (const size_t bytes : {0, 1, 207, 208, 209, 463, 464, 465, 1000, 5000, 70001}) {
    roundTrip(++sequence, bytes);
  }
  EXPECT_EQ(a().bytesSent(), b().bytesReceived());
  EXPECT_EQ(verbs_.notReady, 0u);
}

TEST_F(LinkTest, ASenderStopsWithoutCreditsAndGoesOnWithThem) {
  make({4, 256, 1});
  const auto data = pattern(10000, 1);
  std::vector<std::byte> into(10000);
  SendState send;
  send.header = header(1, 10000);
  send.data = data.data();
  while (a().send(send) == Io::kProgress) {
  }
  EXPECT_EQ(send.sent, 4u * 256) << "four cells";
  EXPECT_EQ(a().send(send), Io::kIdle);
  ReceiveState receive;
  receive.expected = send.header;
  receive.data = into.data();
  pump(send, receive);
  EXPECT_EQ(data, into);
}

TEST_F(LinkTest, TenThousandFramesToAReceiverThatComesWhenItLikes) {
  make({4, 4096, 1});
  starve(false);
}

TEST_F(LinkTest, StripesMayOvertakeEachOther) {
  make({8, 1024, 4}, 4096);
  verbs_.held = true;
  uint64_t sequence = 0;
  for (const size_t bytes : {10, 4096, 8192, 16384, 65536, 3, 100000}) roundTrip(++sequence, bytes);
  EXPECT_EQ(verbs_.notReady, 0u);
  EXPECT_EQ(verbs_.overruns, 0u);
}

TEST_F(LinkTest, AQueuePairTakesPartOnlyForItsThreshold) {
  make({8, 1024, 4}, 4096);
  const auto writes = [&](size_t index) {
    return verbs_.writesOf[ends_[0].queues->qp(index)->qp_num];
  };
  roundTrip(1, 4095);
  EXPECT_GT(writes(0), 0u);
  EXPECT_EQ(writes(1) + writes(2) + writes(3), 0u);
  roundTrip(2, 8192);  // twice the threshold: two
  EXPECT_GT(writes(1), 0u);
  EXPECT_EQ(writes(2) + writes(3), 0u);
  roundTrip(3, 40000);
  EXPECT_GT(writes(2), 0u);
  EXPECT_GT(writes(3), 0u);
}

TEST_F(LinkTest, AnotherFrameIsAMismatchAndDoesNotLand) {
  make({4, 256, 1});
  const auto data = pattern(100, 1);
  SendState send;
  send.header = header(5, 100);
  send.data = data.data();
  FrameHeader next;
  EXPECT_FALSE(b().peek(next));
  EXPECT_EQ(a().send(send), Io::kDone);
  EXPECT_TRUE(b().peek(next));
  EXPECT_EQ(next.sequence, 5u);
  std::vector<std::byte> into(100, std::byte{1});
  ReceiveState receive;
  receive.expected = header(6, 100);
  receive.data = into.data();
  EXPECT_EQ(b().receive(receive), Io::kMismatch);
  EXPECT_EQ(receive.got.sequence, 5u);
  EXPECT_EQ(into, std::vector<std::byte>(100, std::byte{1}));
}

TEST_F(LinkTest, EveryErrorOfACompletionNamesThePeer) {
  for (const ibv_wc_status status :
       {IBV_WC_RETRY_EXC_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_RNR_RETRY_EXC_ERR,
        IBV_WC_GENERAL_ERR}) {
    SCOPED_TRACE(status);
    make({4, 256, 1});
    verbs_.sendStatus = status;
    SendState send;
    send.header = header(1, 0);
    (void)a().send(send);
    (void)a().send(send);
    SendState next;
    next.header = header(2, 0);
    EXPECT_EQ(a().send(next), Io::kFailed);
    const Status failure = a().failure();
    EXPECT_EQ(failure.code(), HCCL_E_REMOTE);
    EXPECT_EQ(failure.eiCode(), 13);
    EXPECT_EQ(failure.culprit(), 1);
    EXPECT_THAT(failure.text(),
                HasSubstr("An error CQE occurred during operator execution. Local information: "
                          "server server-a, device ID 3, device IP 10.0.0.1. Peer information: "
                          "server server-b, device ID 4, device IP 10.0.0.2."));
    EXPECT_THAT(failure.text(), HasSubstr(ibv_wc_status_str(status)));
    verbs_.sendStatus = IBV_WC_SUCCESS;
    for (auto& end : ends_) end = {};
    EXPECT_EQ(verbs_.live(), 1) << "only the protection domain";
  }
}

TEST_F(LinkTest, FlushesAfterAnErrorDoNotHideIt) {
  make({4, 256, 1});
  verbs_.held = true;
  SendState sends[3];
  for (uint64_t i = 0; i < 3; ++i) {
    sends[i].header = header(i + 1, 0);
    EXPECT_EQ(a().send(sends[i]), Io::kDone);
  }
  verbs_.sendStatus = IBV_WC_RETRY_EXC_ERR;
  verbs_.deliver();
  SendState next;
  next.header = header(4, 0);
  EXPECT_EQ(a().send(next), Io::kFailed);
  EXPECT_THAT(a().failure().text(), HasSubstr("status[12]"));
}

TEST_F(LinkTest, WhatArrivedBeforeTheErrorIsDelivered) {
  make({4, 256, 1});
  const auto data = pattern(300, 3);
  SendState send;
  send.header = header(1, 300);
  send.data = data.data();
  EXPECT_EQ(a().send(send), Io::kDone);
  (void)b().fail("the port is down");
  std::vector<std::byte> into(300);
  ReceiveState receive;
  receive.expected = send.header;
  receive.data = into.data();
  EXPECT_EQ(b().receive(receive), Io::kDone);
  EXPECT_EQ(data, into);
  ReceiveState next;
  next.expected = header(2, 1);
  EXPECT_EQ(b().receive(next), Io::kFailed);
}

TEST_F(LinkTest, TheChannelIsArmedOnlyWhileSomebodySleeps) {
  make({4, 256, 1});
  ReceiveState receive;
  receive.expected = header(1, 0);
  EXPECT_EQ(b().receive(receive), Io::kIdle);
  EXPECT_EQ(verbs_.calls["reqNotifyCq"], 0);
  sleepers_ = 1;
  EXPECT_EQ(b().receive(receive), Io::kIdle);
  EXPECT_EQ(b().receive(receive), Io::kIdle);
  EXPECT_EQ(verbs_.calls["reqNotifyCq"], 1);
  SendState send;
  send.header = header(1, 0);
  sleepers_ = 0;
  EXPECT_EQ(a().send(send), Io::kDone);
  uint64_t rings = 0;
  EXPECT_EQ(::read(ends_[1].queues->rails()[0].channel->fd, &rings, sizeof rings),
            static_cast<ssize_t>(sizeof rings))
      << "the sleeper is woken";
  EXPECT_EQ(b().receive(receive), Io::kDone);
}

TEST_F(LinkTest, AQuietReceiverNoticesThatThePeerIsGone) {
  make({4, 256, 1});
  ReceiveState receive;
  receive.expected = header(1, 0);
  verbs_.sendStatus = IBV_WC_RETRY_EXC_ERR;
  const Deadline deadline = Deadline::after(5);
  Io io = Io::kIdle;
  while (io != Io::kFailed && !deadline.expired()) io = b().receive(receive);
  EXPECT_EQ(io, Io::kFailed);
}

TEST_F(LinkTest, FlushWaitsForAcknowledgements) {
  make({16, 256, 1});
  verbs_.held = true;
  SendState send;
  send.header = header(1, 0);
  EXPECT_EQ(a().send(send), Io::kDone);
  const uint64_t before = monotonicNs();
  a().flush(Deadline::after(0.05));
  EXPECT_GE(monotonicNs() - before, 50'000'000u);
  verbs_.deliver();
  verbs_.held = false;
  a().flush(Deadline::after(60));
  EXPECT_LT(monotonicNs() - before, 10'000'000'000u);
}

TEST_F(LinkTest, MemoryThatCannotBeLockedIsTold) {
  FakePort port;
  port.gids = {{"10.0.0.1"}};
  device_ = *Device::of(&verbs_, nullptr, &verbs_.addDevice("fake0", {port})->context);
  verbs_.failing["regMr"] = ENOMEM;
  auto made = QueueSet::make({device_}, {16, 32768, 1});
  EXPECT_EQ(made.status().eiCode(), 11);
  EXPECT_THAT(made.status().text(),
              ::testing::AllOf(HasSubstr("1052672 bytes"), HasSubstr("RLIMIT_MEMLOCK")));
  verbs_.failing.clear();
  verbs_.failing["createQp"] = ENOMEM;
  made = QueueSet::make({device_}, {16, 32768, 2});
  EXPECT_EQ(made.status().eiCode(), 11);
  EXPECT_THAT(made.status().text(),
              HasSubstr("Failed to allocate resource qp with info CreateQp."));
  verbs_.failing.clear();
  for (const char* call : {"createCompChannel", "createCq"}) {
    verbs_.failing = {{call, EMFILE}};
    EXPECT_EQ(QueueSet::make({device_}, {16, 32768, 1}).status().eiCode(), 7) << call;
  }
  EXPECT_EQ(verbs_.live(), 1) << "only the protection domain";
}

TEST_F(LinkTest, DevicesThatAreTooSmallAreTold) {
  FakePort port;
  FakeDevice* fake = verbs_.addDevice("fake0", {port});
  fake->maxQpWr = 20;
  device_ = *Device::of(&verbs_, nullptr, &fake->context);
  EXPECT_THAT(QueueSet::make({device_}, {16, 32768, 1}).status().text(),
              HasSubstr("20 work requests"));
}

}  // namespace
}  // namespace hccl::transport::rdma
