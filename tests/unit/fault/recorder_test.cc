#include "src/fault/recorder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace hccl {
namespace {

OpFacts factsOf(uint64_t sequence) {
  OpFacts facts;
  facts.sequence = sequence;
  facts.count = sequence * 10;
  facts.root = static_cast<uint32_t>(sequence);
  facts.type = 2;
  return facts;
}

TEST(Recorder, KeepsTheLastOperationsInOrder) {
  const auto recorder = std::make_unique<Recorder>();
  const uint64_t all = Recorder::kSlots + 10;
  for (uint64_t i = 0; i < all; ++i) recorder->ended(recorder->queued(factsOf(i)), true);
  const auto records = recorder->snapshot();
  ASSERT_EQ(records.size(), Recorder::kSlots);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].facts.sequence, i + 10);
    EXPECT_EQ(records[i].facts.count, (i + 10) * 10);
    EXPECT_EQ(records[i].state, OpState::kDone);
    EXPECT_GE(records[i].endedNs, records[i].queuedNs);
  }
  EXPECT_EQ(recorder->queuedCount(), all);
  EXPECT_EQ(recorder->endedCount(), all);
}

TEST(Recorder, TellsForWhomAnOperationWaits) {
  Recorder recorder;
  const Recorder::Ticket ticket = recorder.queued(factsOf(3));
  recorder.waits(ticket, 7, "AwaitOpen", 1234);
  const auto records = recorder.snapshot();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].state, OpState::kWaiting);
  EXPECT_EQ(records[0].peer, 7);
  EXPECT_STREQ(records[0].step, "AwaitOpen");
  EXPECT_EQ(records[0].waitingNs, 1234u);
  EXPECT_EQ(recorder.endedCount(), 0u);
}

TEST(Recorder, AnOperationThatLostItsPlaceIsCountedOnly) {
  Recorder recorder;
  const Recorder::Ticket old = recorder.queued(factsOf(0));
  for (uint64_t i = 1; i <= Recorder::kSlots; ++i) recorder.queued(factsOf(i));
  recorder.ended(old, false);
  for (const OpRecord& record : recorder.snapshot()) EXPECT_EQ(record.state, OpState::kQueued);
  EXPECT_EQ(recorder.endedCount(), 1u);
}

// A reader never sees half of one operation and half of another.
TEST(Recorder, ReadersSeeWholeOperations) {
  const auto recorder = std::make_unique<Recorder>();
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 0; !stop.load(); ++i) recorder->ended(recorder->queued(factsOf(i)), true);
  });
  for (int round = 0; round < 200; ++round) {
    for (const OpRecord& record : recorder->snapshot()) {
      EXPECT_EQ(record.facts.count, record.facts.sequence * 10);
      EXPECT_EQ(record.facts.root, static_cast<uint32_t>(record.facts.sequence));
    }
  }
  stop.store(true);
  writer.join();
}

}  // namespace
}  // namespace hccl
