// What the device and rdma_cm report about a link that exists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rdma/link_ends.h"
#include "tests/unit/rdma/setup_ends.h"

namespace hccl::transport::rdma {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// End a watches port 1 of the device.
class DeviceEventTest : public LinkTest {
 protected:
  void SetUp() override {
    make({4, 256, 2});
    PortChoice choice;
    choice.context = &fake_->context;
    choice.device = "fake0";
    choice.address = IpAddress::parse("10.0.0.1").value();
    a().watch(0, choice, [this](const Status& status) { reports_.push_back(status); });
  }
  void happens(ibv_event_type type, const std::function<void(ibv_async_event*)>& about) {
    ibv_async_event event{};
    event.event_type = type;
    about(&event);
    fake_->events.push_back(event);
    device_->readEvents();
  }
  void happensToPort(ibv_event_type type, int port = 1) {
    happens(type, [&](ibv_async_event* event) { event->element.port_num = port; });
  }
  void expectFailure(const std::string& words) {
    ASSERT_EQ(reports_.size(), 1u);
    EXPECT_EQ(reports_[0].code(), HCCL_E_REMOTE);
    EXPECT_EQ(reports_[0].eiCode(), 13);
    EXPECT_EQ(reports_[0].culprit(), 1);
    EXPECT_THAT(reports_[0].text(),
                AllOf(HasSubstr("device IP 10.0.0.2. Remote rank: 1"), HasSubstr(words)));
    SendState send;
    send.header = header(1, 0);
    EXPECT_EQ(a().send(send), Io::kFailed);
    EXPECT_EQ(a().failure().text(), reports_[0].text());
  }
  std::vector<Status> reports_;
};

TEST_F(DeviceEventTest, NewsThatChangeNothingAreNoError) {
  for (const ibv_event_type type : {IBV_EVENT_PORT_ACTIVE, IBV_EVENT_GID_CHANGE,
                                    IBV_EVENT_PKEY_CHANGE, IBV_EVENT_CLIENT_REREGISTER}) {
    happensToPort(type);
  }
  happens(IBV_EVENT_COMM_EST,
          [&](ibv_async_event* event) { event->element.qp = ends_[0].queues->qp(0); });
  EXPECT_TRUE(reports_.empty());
  EXPECT_EQ(verbs_.acknowledged, 5u);
  roundTrip(1, 1000);
}

TEST_F(DeviceEventTest, ThePortGoesDown) {
  fake_->ports[0].state = IBV_PORT_DOWN;
  happensToPort(IBV_EVENT_PORT_ERR, 2);
  EXPECT_TRUE(reports_.empty()) << "another port";
  happensToPort(IBV_EVENT_PORT_ERR);
  expectFailure("the network port is down: fake0 port 1");
}

TEST_F(DeviceEventTest, TheAddressIsLost) {
  fake_->ports[0].gids[0].address = "10.0.0.9";
  happensToPort(IBV_EVENT_GID_CHANGE);
  expectFailure("fake0 port 1 has lost the address 10.0.0.1");
}

TEST_F(DeviceEventTest, TheDeviceFails) {
  happens(IBV_EVENT_DEVICE_FATAL, [](ibv_async_event*) {});
  expectFailure("the RDMA device fake0 has failed");
}

TEST_F(DeviceEventTest, TheCompletionQueueFails) {
  happens(IBV_EVENT_CQ_ERR, [&](ibv_async_event* event) {
    event->element.cq = ends_[1].queues->rails()[0].cq.get();
  });
  EXPECT_TRUE(reports_.empty()) << "of the other link";
  happens(IBV_EVENT_CQ_ERR, [&](ibv_async_event* event) {
    event->element.cq = ends_[0].queues->rails()[0].cq.get();
  });
  expectFailure("a completion queue of fake0 has failed");
}

TEST_F(DeviceEventTest, AQueuePairFails) {
  happens(IBV_EVENT_QP_FATAL,
          [&](ibv_async_event* event) { event->element.qp = ends_[1].queues->qp(0); });
  EXPECT_TRUE(reports_.empty()) << "of the other link";
  happens(IBV_EVENT_QP_ACCESS_ERR,
          [&](ibv_async_event* event) { event->element.qp = ends_[0].queues->qp(1); });
  expectFailure("a queue pair of fake0 has failed");
}

TEST_F(DeviceEventTest, AfterThePeerHasLeftNothingIsAnError) {
  a().setPeerLeft();
  happens(IBV_EVENT_DEVICE_FATAL, [](ibv_async_event*) {});
  EXPECT_TRUE(reports_.empty());
}

TEST_F(DeviceEventTest, ALinkThatIsGoneIsNotTold) {
  ends_[0].link.reset();
  happens(IBV_EVENT_DEVICE_FATAL, [](ibv_async_event*) {});
  EXPECT_TRUE(reports_.empty());
}

// rdma_cm about a connection that was established.
class ConnectionEventTest : public SetupTest {
 protected:
  void SetUp() override {
    run();
    ASSERT_TRUE(complete()) << hosts_[0].failure << hosts_[1].failure;
  }
  void happens(rdma_cm_event_type type) {
    verbs_.push(verbs_.connection(), type);
    agent_->readEvents();
  }
  // The end whose connection it was.
  FakeHost& told() { return hosts_[0].reports.empty() ? hosts_[1] : hosts_[0]; }
};

TEST_F(ConnectionEventTest, ItsEndIsAnError) {
  for (const auto type : {RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_DEVICE_REMOVAL}) {
    SCOPED_TRACE(type);
    happens(type);
    ASSERT_EQ(hosts_[0].reports.size() + hosts_[1].reports.size(), 1u);
    const Status& status = told().reports[0];
    EXPECT_EQ(status.code(), HCCL_E_REMOTE);
    EXPECT_EQ(status.eiCode(), 13);
    EXPECT_EQ(status.culprit(), static_cast<int>(told().own.peer));
    EXPECT_THAT(status.text(), HasSubstr(CmAgent::nameOf(type)));
    EXPECT_THAT(status.text(), HasSubstr(told().own.theirs.tcp.ip.toString()));
    SendState send;
    EXPECT_EQ(told().made[0].link->message->send(send), Io::kFailed);
    drop();
    for (auto& host : hosts_) host.reports.clear();
    SetUp();
  }
}

TEST_F(ConnectionEventTest, OtherNewsAreNoError) {
  happens(RDMA_CM_EVENT_TIMEWAIT_EXIT);
  happens(RDMA_CM_EVENT_ADDR_CHANGE);
  EXPECT_TRUE(hosts_[0].reports.empty() && hosts_[1].reports.empty());
}

TEST_F(ConnectionEventTest, TheEndOfAPeerThatSaidGoodbyeIsNoError) {
  for (auto& host : hosts_) host.made[0].onPeerLeft();
  happens(RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_TRUE(hosts_[0].reports.empty() && hosts_[1].reports.empty());
}

TEST_F(ConnectionEventTest, AListenerWhoseDeviceIsRemovedIsMadeAnew) {
  const auto ip = IpAddress::parse("10.0.0.2").value();
  const uint16_t first = *agent_->listen(ip);
  EXPECT_EQ(*agent_->listen(ip), first);
  verbs_.push(verbs_.listener(first), RDMA_CM_EVENT_DEVICE_REMOVAL);
  agent_->readEvents();
  EXPECT_NE(*agent_->listen(ip), first);
}

}  // namespace
}  // namespace hccl::transport::rdma
