// Links over several network cards at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/runtime/arena.h"
#include "src/runtime/memory_watch.h"
#include "tests/unit/rdma/link_ends.h"
#include "tests/unit/rdma/setup_ends.h"

namespace hccl::transport::rdma {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

IpAddress ip(const char* text) {
  return IpAddress::parse(text).value();
}

class RailsTest : public SetupTest {
 protected:
  RailsTest() {
    FakePort second;
    second.gids = {{"10.1.0.1"}, {"10.1.0.2"}};
    second.mtu = IBV_MTU_1024;
    fake_->ports.push_back(second);
    hosts_[0].own.mine.more = {ip("10.1.0.1")};
    hosts_[1].own.mine.more = {ip("10.1.0.2")};
    for (auto& tools : tools_) tools.stripeBytes = 1000;
  }
  std::string description() { return hosts_[0].made[0].link->description; }
  void carry(size_t bytes) {
    std::vector<std::byte> from(bytes), into(bytes);
    carry(bytes, from.data(), into.data());
  }
  void carry(size_t bytes, std::byte* from, std::byte* into) {
    const auto data = pattern(bytes, static_cast<unsigned>(++sequence_));
    std::copy(data.begin(), data.end(), from);
    SendState send;
    send.header = header(sequence_, bytes);
    send.data = from;
    ReceiveState receive;
    receive.expected = send.header;
    receive.data = into;
    bool sent = false, received = false;
    for (int i = 0; i < 1000 && !(sent && received); ++i) {
      sent = sent || hosts_[0].made[0].link->message->send(send) == Io::kDone;
      received = received || hosts_[1].made[0].link->message->receive(receive) == Io::kDone;
    }
    EXPECT_TRUE(sent && received);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), into));
  }
  const RdmaLink& link(int end) const {
    return static_cast<const RdmaLink&>(*hosts_[end].made[0].link->message);
  }
  uint64_t sequence_ = 0;
};

TEST_F(RailsTest, EachCardHasAQueuePairAndCarriesItsShare) {
  run();
  ASSERT_TRUE(complete()) << hosts_[0].failure << hosts_[1].failure;
  EXPECT_THAT(description(),
              AllOf(HasSubstr("2 queue pairs between 10.0.0.1 (fake0 port 1) and 10.0.0.2, path "
                              "MTU 4096, and between 10.1.0.1 (fake0 port 2) and 10.1.0.2, path "
                              "MTU 1024")));
  EXPECT_EQ(verbs_.calls["createCq"], 4) << "two at each end";
  const auto writes = [&](size_t queue) {
    return verbs_.writesOf[link(0).queues().qp(queue)->qp_num];
  };
  carry(50);
  EXPECT_EQ(writes(1), 0u) << "one suffices for little";
  carry(50000);
  EXPECT_GT(writes(1), 20u) << "half of the cells";
  EXPECT_EQ(verbs_.queuePairs().size(), 4u);
  for (FakeQp* qp : verbs_.queuePairs()) {
    EXPECT_EQ(qp->peer->attributes.path_mtu, qp->attributes.path_mtu);
  }
  EXPECT_EQ(verbs_.notReady, 0u);
}

TEST_F(RailsTest, SeveralQueuePairsOnEachCard) {
  for (auto& tools : tools_) tools.shape.queuePairs = 3;
  run();
  ASSERT_TRUE(complete()) << hosts_[0].failure << hosts_[1].failure;
  EXPECT_THAT(description(), HasSubstr("6 queue pairs"));
  carry(50000);
}

TEST_F(RailsTest, MemoryIsRegisteredWithEachCardOrNotAtAll) {
  FakePort port;
  port.gids = {{"10.2.0.1"}, {"10.2.0.2"}};
  verbs_.addDevice("fake1", {port});
  hosts_[0].own.mine.more = {ip("10.2.0.1")};
  hosts_[1].own.mine.more = {ip("10.2.0.2")};
  for (auto& tools : tools_) tools.directBytes = 4096;
  run();
  ASSERT_TRUE(complete()) << hosts_[0].failure << hosts_[1].failure;
  runtime::Arena& arena = **runtime::Arena::ofDevice(0);
  auto* from = static_cast<std::byte*>(*arena.allocate(50000));
  auto* into = static_cast<std::byte*>(*arena.allocate(50000));
  // Refused by the sender's second card, and then by the receiver's.
  verbs_.failing["regMr"] = ENOMEM;
  for (const int registrations : {1, 3}) {
    verbs_.failingAfter["regMr"] = registrations;
    carry(50000, from, into);
    EXPECT_EQ(link(0).framesWritten(), 0u);
    runtime::memoryLeaves({from, 4096});
  }
  verbs_.failing.clear();
  verbs_.failingAfter.clear();
  runtime::memoryLeaves({into, 4096});
  carry(50000, from, into);
  EXPECT_EQ(link(0).framesWritten(), 1u);
  EXPECT_EQ(verbs_.liveRegions(), 4u + 4u) << "rings, and both buffers with both cards";
  for (std::byte* memory : {from, into}) ASSERT_TRUE(arena.release(memory).isOk());
  EXPECT_EQ(verbs_.liveRegions(), 4u);
}

TEST_F(RailsTest, TheEndWithFewerCardsDecides) {
  for (int end = 0; end < 2; ++end) {
    SCOPED_TRACE(end);
    const auto kept = std::exchange(hosts_[end].own.mine.more, {});
    run();
    ASSERT_TRUE(complete()) << hosts_[0].failure << hosts_[1].failure;
    EXPECT_THAT(description(), AllOf(HasSubstr("1 queue pair "), Not(HasSubstr("10.1.0"))));
    carry(50000);
    drop();
    hosts_[end].own.mine.more = kept;
  }
}

TEST_F(RailsTest, TheSecondPortsFailureNamesItsAddresses) {
  run();
  ASSERT_TRUE(complete()) << hosts_[0].failure << hosts_[1].failure;
  fake_->ports[1].state = IBV_PORT_DOWN;
  ibv_async_event event{};
  event.event_type = IBV_EVENT_PORT_ERR;
  event.element.port_num = 2;
  fake_->events.push_back(event);
  (*Device::of(&verbs_, nullptr, &fake_->context))->readEvents();
  ASSERT_EQ(hosts_[0].reports.size(), 1u);
  EXPECT_EQ(hosts_[0].reports[0].eiCode(), 13);
  EXPECT_THAT(hosts_[0].reports[0].text(),
              AllOf(HasSubstr("device IP 10.1.0.1"), HasSubstr("device IP 10.1.0.2"),
                    HasSubstr("fake0 port 2")));
}

TEST_F(RailsTest, AddressesWithoutAPortOfTheirOwnAreLeftOut) {
  const auto ports = choosePorts(&verbs_, ip("10.0.0.1"),
                                 {ip("10.9.9.9"), ip("10.0.0.2"), ip("10.1.0.1"), ip("10.1.0.2")});
  ASSERT_TRUE(ports.isOk());
  ASSERT_EQ(ports->size(), 2u);
  EXPECT_EQ((*ports)[0].address, ip("10.0.0.1"));
  EXPECT_EQ((*ports)[1].address, ip("10.1.0.1"));
  EXPECT_EQ((*ports)[1].port, 2);
}

}  // namespace
}  // namespace hccl::transport::rdma
