// What the user sets arrives in the queue pairs of a real device.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/roce/rdma_facts.h"
#include "tests/unit/transport/rank_process.h"
#include "transport/rdma/rdma_link.h"

namespace hccl::transport {
namespace {

// The environment is read once in a process: these tests are a program of their own.
TEST(RoceSettings, ReachTheQueuePairs) {
  ::setenv("HCCL_RDMA_TC", "96", 1);
  ::setenv("HCCL_RDMA_SL", "5", 1);
  ::setenv("HCCL_RDMA_TIMEOUT", "14", 1);
  ::setenv("HCCL_RDMA_RETRY_CNT", "3", 1);
  ::setenv("HCCL_RDMA_QPS_PER_CONNECTION", "2", 1);
  const roce::DeviceFacts facts = roce::usableDevice();
  ASSERT_FALSE(facts.address.empty()) << "no active RDMA port with an address";
  LocalRank ranks[2];
  const std::vector<Rank*> both = {&ranks[0], &ranks[1]};
  const auto cards = exchangeCards(both, facts.address);
  for (uint32_t i = 0; i < 2; ++i) ASSERT_EQ(makeRankLinks(both[i], cards, i, "rdma"), "ok");
  auto one = ranks[0].start("connect 1 0 60");
  auto other = ranks[1].start("connect 0 0 60");
  ASSERT_EQ(one.get(), "ok");
  ASSERT_EQ(other.get(), "ok");
  for (uint32_t i = 0; i < 2; ++i) {
    Link* link = ranks[i].commands().links()->find(1 - i, LinkKind::kCollective);
    const auto& queues = static_cast<rdma::RdmaLink*>(link->message.get())->queues();
    ASSERT_EQ(queues.shape().queuePairs, 2u);
    const bool isSoft = queues.rails()[0].device->limits().vendor_id == 0xffffff;
    for (size_t q = 0; q < 2; ++q) {
      ibv_qp_attr attributes{};
      ibv_qp_init_attr init{};
      const int mask =
          IBV_QP_STATE | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
      ASSERT_EQ(rdma::realVerbs()->queryQp(queues.qp(q), &attributes, mask, &init), 0);
      EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
      EXPECT_EQ(attributes.ah_attr.grh.traffic_class, 96);
      // Soft-RoCE has no service levels and answers 0.
      EXPECT_EQ(attributes.ah_attr.sl, isSoft ? 0 : 5);
      EXPECT_EQ(attributes.timeout, 14);
      EXPECT_EQ(attributes.retry_cnt, 3);
      EXPECT_EQ(attributes.rnr_retry, 6);
    }
  }
  EXPECT_EQ(ranks[0].run("destroy"), "ok");
  EXPECT_EQ(ranks[1].run("destroy"), "ok");
}

}  // namespace
}  // namespace hccl::transport
