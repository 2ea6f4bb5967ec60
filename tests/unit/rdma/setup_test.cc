// RdmaSetup: two ends that meet through a fake rdma_cm.
#include "transport/rdma/rdma_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "tests/unit/rdma/setup_ends.h"

namespace hccl::transport::rdma {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(SetupTest, TwoEndsMeetAndTalk) {
  run();
  ASSERT_TRUE(complete()) << hosts_[0].failure << hosts_[1].failure;
  EXPECT_THAT(hosts_[0].made[0].link->description,
              AllOf(HasSubstr("rdma: 1 queue pair"), HasSubstr("10.0.0.1 (fake0 port 1)"),
                    HasSubstr("and 10.0.0.2"), HasSubstr("path MTU 4096")));
  MessageLink& a = *hosts_[0].made[0].link->message;
  MessageLink& b = *hosts_[1].made[0].link->message;
  std::vector<std::byte> data(3000, std::byte{3}), into(3000);
  SendState send;
  send.header.bytes = data.size();
  send.data = data.data();
  ReceiveState receive;
  receive.expected = send.header;
  receive.data = into.data();
  bool sent = false, received = false;
  for (int i = 0; i < 100 && !(sent && received); ++i) {
    sent = sent || a.send(send) == Io::kDone;
    received = received || b.receive(receive) == Io::kDone;
  }
  EXPECT_TRUE(sent && received);
  EXPECT_EQ(data, into);
}

TEST_F(SetupTest, TheUsersSettingsReachTheQueuePairs) {
  for (auto& tools : tools_) {
    tools.settings.timeout = 14;
    tools.settings.retryCount = 3;
    tools.settings.serviceLevel = 5;
    tools.settings.trafficClass = 96;
    tools.ports = *QpPortConfig::parse("0.0.0.0,0.0.0.0=50000,49152\n", "test");
  }
  run();
  ASSERT_TRUE(complete()) << hosts_[0].failure << hosts_[1].failure;
  ASSERT_EQ(verbs_.queuePairs().size(), 4u) << "two ports: two queue pairs at each end";
  std::vector<uint32_t> labels;
  for (FakeQp* qp : verbs_.queuePairs()) {
    EXPECT_EQ(qp->attributes.timeout, 14);
    EXPECT_EQ(qp->attributes.retry_cnt, 3);
    EXPECT_EQ(qp->attributes.rnr_retry, 6) << "not for ever";
    EXPECT_EQ(qp->attributes.ah_attr.sl, 5);
    EXPECT_EQ(qp->attributes.ah_attr.grh.traffic_class, 96);
    EXPECT_EQ(qp->attributes.qp_state, IBV_QPS_RTS);
    EXPECT_NE(qp->attributes.qp_access_flags & IBV_ACCESS_REMOTE_WRITE, 0u);
    labels.push_back(qp->attributes.ah_attr.grh.flow_label);
  }
  EXPECT_THAT(labels,
              ::testing::UnorderedElementsAre(50000 & 0x3fff, 50000 & 0x3fff, 0x4001, 0x4001));
}

TEST_F(SetupTest, RetriesEndOnSoftRoceToo) {
  run();
  ASSERT_TRUE(complete());
  for (FakeQp* qp : verbs_.queuePairs()) EXPECT_EQ(qp->attributes.retry_cnt, 7);
  drop();
  fake_->vendor = 0xffffff;
  run();
  ASSERT_TRUE(complete());
  for (FakeQp* qp : verbs_.queuePairs()) {
    EXPECT_EQ(qp->attributes.retry_cnt, 6) << "7 means for ever there";
  }
}

TEST_F(SetupTest, TheSmallerShapeAndMtuCount) {
  tools_[0].shape = {8, 2048, 4};
  tools_[1].shape = {16, 1024, 2};
  run();
  ASSERT_TRUE(complete()) << hosts_[0].failure << hosts_[1].failure;
  EXPECT_THAT(hosts_[0].made[0].link->description,
              AllOf(HasSubstr("2 queue pairs"), HasSubstr("8 cells of 1024 bytes")));
}

TEST_F(SetupTest, PortsOfUnequalMtuAgreeOnTheSmallerOne) {
  FakePort small;
  small.gids = {{"10.0.0.2"}};
  small.mtu = IBV_MTU_1024;
  fake_->ports[0].gids = {{"10.0.0.1"}};
  fake_->ports.push_back(small);
  run();
  ASSERT_TRUE(complete()) << hosts_[0].failure << hosts_[1].failure;
  for (FakeQp* qp : verbs_.queuePairs()) EXPECT_EQ(qp->attributes.path_mtu, IBV_MTU_1024);
  EXPECT_THAT(hosts_[1].made[0].link->description, HasSubstr("path MTU 1024"));
}

TEST_F(SetupTest, EveryCallThatFailsIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"regMr", "RLIMIT_MEMLOCK"},
      {"createQp", "CreateQp"},
      {"modifyQp", "ModifyQp"},
      {"createCq", "CreateCq"},
      {"allocPd", "resource pd"},
      {"createId", "rdma_create_id"},
      {"bindAddress", "rdma_bind_addr"},
      {"listen", "rdma_listen"},
      {"resolveAddress", "rdma_resolve_addr"},
      {"ADDR_RESOLVED", "RDMA_CM_EVENT_ADDR_ERROR"},
      {"resolveRoute", "rdma_resolve_route"},
      {"connect", "rdma_connect"},
      {"accept", "rdma_accept"},
      {"establish", "rdma_establish"},
      {"initQpAttributes", "rdma_init_qp_attr"},
      {"postRecv", "receive entries"},
      {"queryDevice", "cannot be queried"},
  };
  for (const auto& [call, words] : cases) {
    SCOPED_TRACE(call);
    agent_ = std::move(*CmAgent::make(&verbs_, nullptr));
    for (auto& tools : tools_) tools.agent = agent_.get();
    for (auto& host : hosts_) host.failure.clear();
    verbs_.failing = {{call, ENOMEM}};
    run();
    EXPECT_FALSE(complete());
    EXPECT_THAT(hosts_[0].failure + hosts_[1].failure, HasSubstr(words));
    verbs_.failing.clear();
    drop();
    agent_.reset();
    EXPECT_EQ(verbs_.live(), 0) << "nothing may be left";
  }
  agent_ = std::move(*CmAgent::make(&verbs_, nullptr));
}

TEST_F(SetupTest, RejectionAndUnreachability) {
  verbs_.answer = FakeVerbs::Answer::kReject;
  run();
  EXPECT_THAT(hosts_[0].failure,
              AllOf(HasSubstr("RDMA_CM_EVENT_REJECTED"), HasSubstr("10.0.0.1 and 10.0.0.2")));
  hosts_[0].failure.clear();
  verbs_.answer = FakeVerbs::Answer::kUnreachable;
  run();
  EXPECT_THAT(hosts_[0].failure, HasSubstr("RDMA_CM_EVENT_UNREACHABLE"));
}

TEST_F(SetupTest, ForgedGreetingsAreRefused) {
  for (size_t place = 0; place < sizeof(Greeting); ++place) {
    SCOPED_TRACE(place);
    for (auto& host : hosts_) host.failure.clear();
    verbs_.onPrivateData = [&](std::string* data) { (*data)[place] ^= 1; };
    run();
    EXPECT_FALSE(complete());
    EXPECT_THAT(hosts_[0].failure, HasSubstr("RDMA_CM_EVENT_REJECTED"));
    EXPECT_EQ(hosts_[1].failure, "") << "a stranger must not end the attempt";
    for (auto& setup : setups_) setup.reset();
  }
}

TEST_F(SetupTest, AnotherKeyIsRefused) {
  hosts_[0].own.sessionKey = sha256("guess");
  run();
  EXPECT_THAT(hosts_[0].failure, HasSubstr("RDMA_CM_EVENT_REJECTED"));
}

TEST_F(SetupTest, NonsenseOfThePeerEndsTheAttempt) {
  for (const char* text :
       {"", "{}", "[1]", R"({"kind":"offer"})",
        R"({"kind":"ring","token":1,"ring":0,"depth":4,"cell":1024,"qps":1,)"
        R"("rails":[{"address":"10.0.0.2","port":1,"key":1,"mtu":5}]})",
        R"({"kind":"offer","token":1,"ring":1,"depth":4,"cell":1024,"qps":1,)"
        R"("rails":[]})",
        R"({"kind":"offer","token":1,"ring":1,"depth":4,"cell":1024,"qps":1,)"
        R"("rails":[{"address":"10.0.0.2","port":1,"key":1,"mtu":9}]})",
        R"({"kind":"offer","token":1,"ring":1,"depth":100000,"cell":1024,)"
        R"("qps":1,"rails":[{"address":"10.0.0.2","port":1,"key":1,"mtu":5}]})"}) {
    SCOPED_TRACE(text);
    FakeHost host;
    host.own = hosts_[1].own;
    RdmaSetup setup(&host, tools_[1]);
    setup.onMessage(text, {});
    EXPECT_NE(host.failure, "");
  }
}

// With a control thread, whose timer ends an attempt that nobody answers.
class TimedHost final : public SetupHost {
 public:
  explicit TimedHost(PairFacts facts) : own_(std::move(facts)) {}
  ControlThread* thread() override { return *ControlThread::instance(); }
  const PairFacts& facts() const override { return own_; }
  void send(std::string_view, std::span<const int>) override {}
  void finish(std::vector<MadeLink>) override {}
  void fail(std::string reason) override {
    std::lock_guard lock(mutex_);
    failure_ = std::move(reason);
    changed_.notify_all();
  }
  std::function<void(const Status&)> failureReporter() override {
    return [](const Status&) {};
  }
  std::string failure() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !failure_.empty(); });
    return failure_;
  }

 private:
  PairFacts own_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string failure_;
};

TEST_F(SetupTest, SilenceEndsAtTheTimeLimit) {
  tools_[0].timeoutSeconds = 0.1;
  TimedHost host(hosts_[0].own);
  auto setup = std::make_unique<RdmaSetup>(&host, tools_[0]);
  host.thread()->run([&] { setup->begin(); });
  EXPECT_THAT(host.failure(), HasSubstr("no RDMA connection between 10.0.0.1 and"));
  host.thread()->run([&] { setup.reset(); });
}

TEST(FlowLabelTest, TheKernelsMappingYieldsThePort) {
  for (uint32_t port = 49152; port <= 65535; ++port) {
    const auto label = flowLabelOfPort(static_cast<uint16_t>(port));
    ASSERT_TRUE(label.isOk());
    ASSERT_NE(*label, 0u);
    ASSERT_LT(*label, 1u << 20);
    const uint32_t low = (*label & 0x3fff) ^ (*label & 0xfc000) >> 14;
    ASSERT_EQ(low | 0xc000, port);
  }
  EXPECT_EQ(flowLabelOfPort(49151).status().eiCode(), 1);
}

TEST(RetryTimeTest, IsTheQueuePairsOwn) {
  QueueSettings settings;
  EXPECT_NEAR(retrySeconds(settings), 8 * 4.295, 0.01);
  settings.timeout = 14;
  settings.retryCount = 1;
  EXPECT_NEAR(retrySeconds(settings), 2 * 0.0671, 0.001);
}

}  // namespace
}  // namespace hccl::transport::rdma
