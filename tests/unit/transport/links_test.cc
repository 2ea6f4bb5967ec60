// Links between ranks of one process and of several: set-up in any order, memory, waking, ends.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/runtime/engine.h"
#include "tests/unit/transport/rank_process.h"

namespace hccl::transport {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

enum class Where { kThreads, kProcesses };

struct Case {
  Where where;
  std::string transports;
};
std::string nameOf(const ::testing::TestParamInfo<Case>& info) {
  return fmt::format("{}_{}", info.param.where == Where::kThreads ? "Threads" : "Processes",
                     info.param.transports);
}

class LinksTest : public ::testing::TestWithParam<Case> {
 protected:
  void make(size_t count, bool links = true) {
    for (size_t i = 0; i < count; ++i) {
      if (GetParam().where == Where::kThreads) {
        owned_.push_back(std::make_unique<LocalRank>());
      } else {
        owned_.push_back(std::make_unique<RankProcess>());
      }
      ranks_.push_back(owned_.back().get());
    }
    cards_ = exchangeCards(ranks_);
    for (uint32_t i = 0; links && i < count; ++i) {
      ASSERT_EQ(makeRankLinks(ranks_[i], cards_, i, GetParam().transports), "ok");
    }
  }
  bool direct() const { return GetParam().transports != "tcp"; }
  std::string expectedClass() const { return direct() ? "1 " : "2 "; }

  std::vector<std::unique_ptr<Rank>> owned_;
  std::vector<Rank*> ranks_;
  std::vector<std::string> cards_;
};

TEST_P(LinksTest, BothEndsAtOnceAndBothKinds) {
  make(2);
  for (const int kind : {0, 1}) {
    auto other = ranks_[1]->start(fmt::format("connect 0 {} 20", kind));
    EXPECT_EQ(ranks_[0]->run(fmt::format("connect 1 {} 20", kind)), "ok");
    EXPECT_EQ(other.get(), "ok");
    EXPECT_THAT(ranks_[0]->run(fmt::format("describe 1 {}", kind)), StartsWith(expectedClass()));
    EXPECT_THAT(ranks_[1]->run(fmt::format("describe 0 {}", kind)), StartsWith(expectedClass()));
  }
}

TEST_P(LinksTest, OneEndAloneIsEnough) {
  make(3);
  // The lower rank pokes, the higher one calls; neither peer is inside the library.
  EXPECT_EQ(ranks_[0]->run("connect 2 0 20"), "ok");
  EXPECT_EQ(ranks_[2]->run("connect 1 1 20"), "ok");
  EXPECT_EQ(ranks_[1]->run("connect 0,2 0 20"), "ok");
  EXPECT_EQ(ranks_[0]->run("connect 1,2 0 20"), "ok");
  EXPECT_THAT(ranks_[0]->run("describe 2 0"), StartsWith(expectedClass()));
  EXPECT_THAT(ranks_[1]->run("describe 2 0"), StartsWith(expectedClass()));
}

TEST_P(LinksTest, RanksMayComeInAnyOrder) {
  make(2, false);
  for (const uint32_t first : {0U, 1U}) {
    const uint32_t second = 1 - first;
    ASSERT_EQ(makeRankLinks(ranks_[first], cards_, first, GetParam().transports), "ok");
    auto early = ranks_[first]->start(fmt::format("connect {} 0 20", second));
    // The first one calls a communicator that its peer does not have yet.
    EXPECT_EQ(early.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    ASSERT_EQ(makeRankLinks(ranks_[second], cards_, second, GetParam().transports), "ok");
    EXPECT_EQ(early.get(), "ok");
    EXPECT_THAT(ranks_[first]->run(fmt::format("describe {} 0", second)),
                StartsWith(expectedClass()));
    ranks_[first]->run("destroy");
    ranks_[second]->run("destroy");
  }
}

TEST_P(LinksTest, AbsentPeerIsNamedAtTheDeadline) {
  make(2, false);
  ASSERT_EQ(makeRankLinks(ranks_[0], cards_, 0, GetParam().transports), "ok");
  const std::string text = ranks_[0]->run("connect 1 0 0.2");
  EXPECT_THAT(text, StartsWith("error 9 6 1 Getting socket times out. Reason: "));
  EXPECT_THAT(text, HasSubstr("rank [1]"));
  EXPECT_THAT(text, HasSubstr("127.0.0.1:"));
}

TEST_P(LinksTest, CancelEndsConnect) {
  make(2, false);
  ASSERT_EQ(makeRankLinks(ranks_[0], cards_, 0, GetParam().transports), "ok");
  if (GetParam().where == Where::kProcesses) return;  // one command at a time there
  auto waiting = ranks_[0]->start("connect 1 0 60");
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  ranks_[0]->run("cancel");
  EXPECT_EQ(waiting.get(), "error 7 0 -1 Terminating operation due to external request");
}

TEST_P(LinksTest, WrongSecretIsRefused) {
  make(2, false);
  ASSERT_EQ(makeRankLinks(ranks_[0], cards_, 0, GetParam().transports, "right"), "ok");
  ASSERT_EQ(makeRankLinks(ranks_[1], cards_, 1, GetParam().transports, "wrong"), "ok");
  const std::string text = ranks_[1]->run("connect 0 0 0.3");
  EXPECT_THAT(text, StartsWith("error "));
  EXPECT_THAT(text, HasSubstr("secret"));
  EXPECT_EQ(ranks_[0]->run("describe 1 0"), "none");
  EXPECT_EQ(ranks_[1]->run("describe 0 0"), "none");
}

TEST_P(LinksTest, LeavingIsNoFailure) {
  make(2);
  EXPECT_EQ(ranks_[1]->run("connect 0 0 20"), "ok");
  EXPECT_EQ(ranks_[0]->run("connect 1 0 20"), "ok");
  EXPECT_EQ(ranks_[1]->run("left 0 0"), "there");
  ranks_[0]->run("destroy");
  EXPECT_EQ(ranks_[1]->run("left 0 5"), "left");
  EXPECT_EQ(ranks_[1]->run("failure 0.05"), "none");
}

TEST_P(LinksTest, NamesMayBeUsedAgain) {
  make(2, false);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 2; ++i) {
      ASSERT_EQ(makeRankLinks(ranks_[i], cards_, i, GetParam().transports), "ok");
    }
    ASSERT_EQ(ranks_[round % 2]->run(fmt::format("connect {} 0 20", 1 - round % 2)), "ok");
    // One end is a round ahead: its new communicator must not meet the old one here.
    ranks_[0]->run("destroy");
    ASSERT_EQ(makeRankLinks(ranks_[0], cards_, 0, GetParam().transports), "ok");
    EXPECT_THAT(ranks_[0]->run("connect 1 0 0.1"), StartsWith("error 9 6 1"));
    ranks_[1]->run("destroy");
    ASSERT_EQ(makeRankLinks(ranks_[1], cards_, 1, GetParam().transports), "ok");
    EXPECT_EQ(ranks_[0]->run("connect 1 0 20"), "ok");
    ranks_[0]->run("destroy");
    ranks_[1]->run("destroy");
  }
}

TEST_P(LinksTest, DirectMemory) {
  if (!direct()) return;
  make(2);
  ASSERT_EQ(ranks_[0]->run("connect 1 0 20"), "ok");
  ASSERT_EQ(ranks_[1]->run("connect 0 0 20"), "ok");
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{100000}, size_t{5 << 20}}) {
    const std::string ref = ranks_[0]->run(fmt::format("alloc {} 7", bytes));
    EXPECT_EQ(ranks_[1]->run(fmt::format("check 0 {} {} 7", ref, bytes)), "ok");
    EXPECT_EQ(ranks_[1]->run(fmt::format("store 0 {} {} 9", ref, bytes)), "ok");
    EXPECT_EQ(ranks_[0]->run(fmt::format("verify {} {} 9", ref, bytes)), "ok");
  }
  EXPECT_EQ(ranks_[1]->run("reach 0 0 1"), "address");
  EXPECT_EQ(ranks_[1]->run(fmt::format("reach 0 {} 1", (1ULL << 62))), "outside");
  EXPECT_EQ(ranks_[1]->run(fmt::format("reach 0 4096 {}", (1ULL << 63))), "outside");
  EXPECT_EQ(ranks_[1]->run(fmt::format("reach 0 4096 {}", ~0ULL - 4000)), "outside");
}

TEST_P(LinksTest, BoardsAreSeenAndRingWakesASleeper) {
  if (!direct()) return;
  make(2);
  ASSERT_EQ(ranks_[1]->run("connect 0 0 20"), "ok");
  ASSERT_EQ(ranks_[0]->run("connect 1 0 20"), "ok");
  ASSERT_EQ(ranks_[0]->run("publish 1 41"), "ok");
  EXPECT_THAT(ranks_[1]->run("await 0 41 5"), StartsWith("ok"));
  // Nothing but the ring can wake it before its deadline of 20 s.
  for (uint64_t value = 42; value < 52; ++value) {
    auto sleeper = ranks_[1]->start(fmt::format("await 0 {} 20", value));
    EXPECT_EQ(sleeper.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
    const uint64_t start = monotonicNs();
    ASSERT_EQ(ranks_[0]->run(fmt::format("publish 1 {}", value)), "ok");
    EXPECT_THAT(sleeper.get(), StartsWith("ok"));
    EXPECT_LT(monotonicNs() - start, 2'000'000'000ULL);
  }
}

TEST_P(LinksTest, LastSignalOutlivesTheSignaller) {
  if (!direct()) return;
  make(2);
  ASSERT_EQ(ranks_[1]->run("connect 0 0 20"), "ok");
  ASSERT_EQ(ranks_[0]->run("connect 1 0 20"), "ok");
  ASSERT_EQ(ranks_[0]->run("publish 1 5"), "ok");
  ranks_[0]->run("destroy");
  // Others may take the place of what was freed.
  ASSERT_EQ(makeRankLinks(ranks_[0], cards_, 0, GetParam().transports, "secret", "other"), "ok");
  EXPECT_EQ(ranks_[1]->run("left 0 5"), "left");
  EXPECT_THAT(ranks_[1]->run("await 0 5 1"), StartsWith("ok"));
}

TEST_P(LinksTest, Frames) {
  if (direct()) return;
  make(2);
  uint64_t sequence = 0;
  for (const int kind : {0, 1}) {
    ASSERT_EQ(ranks_[1]->run(fmt::format("connect 0 {} 20", kind)), "ok");
    ASSERT_EQ(ranks_[0]->run(fmt::format("connect 1 {} 20", kind)), "ok");
    size_t total = 0;
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{47}, size_t{65536}, size_t{5 << 20}}) {
      ++sequence;
      auto other =
          ranks_[1]->start(fmt::format("exchange 0 {} {} 100 {} 20", kind, bytes, sequence));
      EXPECT_EQ(ranks_[0]->run(fmt::format("exchange 1 {} {} 100 {} 20", kind, bytes, sequence)),
                "ok");
      EXPECT_EQ(other.get(), "ok");
      total += bytes;
    }
    EXPECT_EQ(ranks_[0]->run(fmt::format("counters 1 {}", kind)), fmt::format("{0} {0}", total));
    EXPECT_EQ(ranks_[1]->run(fmt::format("counters 0 {}", kind)), fmt::format("{0} {0}", total));
  }
}

TEST_P(LinksTest, UnexpectedFrameIsNotDelivered) {
  if (direct()) return;
  make(2);
  ASSERT_EQ(ranks_[1]->run("connect 0 0 20"), "ok");
  ASSERT_EQ(ranks_[0]->run("connect 1 0 20"), "ok");
  EXPECT_EQ(ranks_[1]->run("send 0 0 100 1 8 20"), "ok");
  EXPECT_EQ(ranks_[0]->run("receive 1 0 100 1 7 20"), "mismatch 8");
}

TEST_P(LinksTest, SentBeforeLeavingStillArrives) {
  if (direct()) return;
  make(2);
  ASSERT_EQ(ranks_[1]->run("connect 0 0 20"), "ok");
  ASSERT_EQ(ranks_[0]->run("connect 1 0 20"), "ok");
  EXPECT_EQ(ranks_[1]->run("send 0 0 30000 1 1 20"), "ok");
  ranks_[1]->run("destroy");
  EXPECT_EQ(ranks_[0]->run("left 1 5"), "left");
  EXPECT_EQ(ranks_[0]->run("receive 1 0 30000 1 1 20"), "ok");
  const std::string text = ranks_[0]->run("receive 1 0 10 1 2 20");
  EXPECT_THAT(text, StartsWith("error 13 12 1 "));
  EXPECT_THAT(text, HasSubstr("has destroyed its communicator"));
  EXPECT_EQ(ranks_[0]->run("failure 0.05"), "none");
}

// The lower rank's end of a link is ready first: it may have sent and gone before the other end is.
TEST_P(LinksTest, LeavingBeforeThePeerEndIsReady) {
  if (direct()) return;
  make(2, false);
  for (int round = 0; round < 50; ++round) {
    for (uint32_t i = 0; i < 2; ++i) {
      ASSERT_EQ(makeRankLinks(ranks_[i], cards_, i, GetParam().transports), "ok");
    }
    ASSERT_EQ(ranks_[0]->run("connect 1 1 20"), "ok");
    ASSERT_EQ(ranks_[0]->run("send 1 1 4 1 1 20"), "ok");
    ranks_[0]->run("destroy");
    ASSERT_EQ(ranks_[1]->run("connect 0 1 20"), "ok") << "round " << round;
    EXPECT_EQ(ranks_[1]->run("receive 0 1 4 1 1 20"), "ok");
    ranks_[1]->run("destroy");
  }
}

INSTANTIATE_TEST_SUITE_P(All, LinksTest,
                         ::testing::Values(Case{Where::kThreads, "auto"},
                                           Case{Where::kThreads, "tcp"},
                                           Case{Where::kProcesses, "auto"},
                                           Case{Where::kProcesses, "tcp"}),
                         nameOf);

}  // namespace
}  // namespace hccl::transport
