// RdmaLink: frames that are written from and into registered memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "src/runtime/arena.h"
#include "src/runtime/memory_watch.h"
#include "tests/unit/rdma/link_ends.h"

namespace hccl::transport::rdma {
namespace {

using ::testing::HasSubstr;

constexpr size_t kThreshold = 4096;

// With completions, and with flags.
class DirectTest : public LinkTest, public ::testing::WithParamInterface<bool> {
 protected:
  DirectTest() { flags_ = GetParam(); }
  ~DirectTest() override {
    for (auto& end : ends_) end = {};
    device_.reset();
    EXPECT_EQ(verbs_.strayWrites, strays_);
    EXPECT_EQ(verbs_.notReady, 0u);
    EXPECT_EQ(verbs_.overruns, 0u);
    EXPECT_EQ(verbs_.live(), 0);
    for (std::byte* memory : allocated_) EXPECT_TRUE(arena().release(memory).isOk());
  }
  static runtime::Arena& arena() { return **runtime::Arena::ofDevice(0); }
  std::byte* allocate(size_t bytes) {
    auto* made = static_cast<std::byte*>(*arena().allocate(bytes));
    allocated_.push_back(made);
    return made;
  }
  void release(std::byte* memory) {
    std::erase(allocated_, memory);
    ASSERT_TRUE(arena().release(memory).isOk());
  }
  // One frame; values, and what lies around the target, are checked.
  void carry(std::byte* from, std::byte* to, size_t bytes) {
    const auto data = pattern(bytes, static_cast<unsigned>(++sequence_));
    std::copy(data.begin(), data.end(), from);
    to[-1] = to[bytes] = std::byte{0x55};
    send_ = {};
    send_.header = header(sequence_, bytes);
    send_.data = from;
    receive_ = {};
    receive_.expected = send_.header;
    receive_.data = to;
    pump(send_, receive_);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), to)) << bytes;
    EXPECT_EQ(to[-1], std::byte{0x55});
    EXPECT_EQ(to[bytes], std::byte{0x55});
  }
  // A frame whose first half has been written.
  void carryHalf(std::byte* from, std::byte* to, size_t bytes) {
    send_.header = header(++sequence_, bytes);
    send_.data = from;
    receive_.expected = send_.header;
    receive_.data = to;
    EXPECT_EQ(a().send(send_), Io::kProgress);
    EXPECT_EQ(b().receive(receive_), Io::kProgress);
    verbs_.held = true;
    EXPECT_EQ(a().send(send_), Io::kProgress);
  }
  std::vector<std::byte*> allocated_;
  uint64_t sequence_ = 0, strays_ = 0;
  SendState send_;
  ReceiveState receive_;
};

TEST_P(DirectTest, LargeFramesAreWrittenWithoutCopies) {
  make({4, 1024, 1}, 512 * 1024, kThreshold);
  std::byte* from = allocate(1 << 20);
  std::byte* to = allocate(1 << 20);
  uint64_t direct = 0;
  for (const size_t bytes : {4095, 4096, 4097, 100, 5000, 65536, 300001}) {
    for (const size_t shift : {0, 1, 61}) {
      carry(from + shift, to + 64 - shift, bytes);
      if (bytes >= kThreshold) ++direct;
      EXPECT_EQ(a().framesWritten(), direct) << bytes;
    }
  }
  EXPECT_EQ(a().bytesSent(), b().bytesReceived());
  EXPECT_EQ(verbs_.calls["regMr"], 2 + 2) << "rings, and each allocation once";
}

TEST_P(DirectTest, OtherMemoryGoesThroughCells) {
  make({4, 1024, 1}, 512 * 1024, kThreshold);
  std::byte* arena = allocate(30000);
  std::vector<std::byte> plain(30000);
  carry(plain.data(), arena + 64, 20000);
  carry(arena, plain.data() + 64, 20000);
  EXPECT_EQ(a().framesWritten(), 0u);
  carry(arena, allocate(30000) + 64, 20000);
  EXPECT_EQ(a().framesWritten(), 1u);
}

TEST_P(DirectTest, EveryQueuePairWritesItsPieces) {
  make({8, 1024, 4}, 2048, kThreshold);
  verbs_.held = true;
  std::byte* from = allocate(1 << 20);
  std::byte* to = allocate(1 << 20);
  for (const size_t bytes : {4096, 5000, 8192, 8193, 200000}) carry(from, to + 64, bytes);
  EXPECT_EQ(a().framesWritten(), 5u);
  for (size_t i = 0; i < 4; ++i) EXPECT_GT(verbs_.writesOf[ends_[0].queues->qp(i)->qp_num], 40u);
}

TEST_P(DirectTest, NoMoreQueuePairsThanPieces) {
  make({8, 4096, 8}, 1024, kThreshold);
  carry(allocate(20000), allocate(20000) + 64, 8193);
  EXPECT_EQ(a().framesWritten(), 1u);
}

TEST_P(DirectTest, FreedMemoryIsRegisteredAnewWhenItComesBack) {
  make({4, 1024, 1}, 512 * 1024, kThreshold);
  for (int round = 0; round < 4; ++round) {
    std::byte* from = allocate(40000);
    std::byte* to = allocate(50000);
    carry(from, to + 64, 30000);
    EXPECT_EQ(verbs_.liveRegions(), 4u);
    release(from);
    EXPECT_EQ(verbs_.liveRegions(), 3u);
    release(to);
    EXPECT_EQ(verbs_.liveRegions(), 2u) << "the rings";
  }
  EXPECT_EQ(a().framesWritten(), 4u);
  EXPECT_EQ(verbs_.calls["regMr"], 2 + 8);
}

TEST_P(DirectTest, MemoryThatIsFreedInTheMiddleStaysToTheEnd) {
  make({4, 1024, 1}, 512 * 1024, kThreshold);
  std::byte* from = allocate(40000);
  std::byte* to = allocate(40000);
  const auto data = pattern(20000, 9);
  std::copy(data.begin(), data.end(), from);
  const uint64_t live = arena().liveBytes();
  carryHalf(from, to, 20000);
  release(from);
  release(to);
  EXPECT_EQ(arena().liveBytes(), live);
  verbs_.held = false;
  verbs_.deliver();
  pump(send_, receive_);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), to)) << "pages of freed memory are kept a while";
  EXPECT_LT(arena().liveBytes(), live);
  EXPECT_EQ(verbs_.liveRegions(), 2u);
}

TEST_P(DirectTest, RegisteredRangesOfTheProgramAreWrittenToo) {
  make({4, 1024, 1}, 512 * 1024, kThreshold);
  std::vector<std::byte> plain(50000);
  const runtime::MemoryRange range{plain.data() + 100, 40000};
  runtime::keepMemory(range);
  std::byte* to = allocate(50000);
  carry(plain.data() + 100, to + 64, 20000);
  carry(plain.data() + 20100, to + 64, 20000);
  EXPECT_EQ(a().framesWritten(), 2u);
  carry(plain.data() + 20101, to + 64, 20000);
  EXPECT_EQ(a().framesWritten(), 2u) << "a byte too far";
  runtime::unkeepMemory(range);
  EXPECT_EQ(verbs_.liveRegions(), 3u);
  carry(plain.data() + 100, to + 64, 20000);
  EXPECT_EQ(a().framesWritten(), 2u);
}

TEST_P(DirectTest, MemoryThatCannotBeRegisteredIsCopied) {
  make({4, 1024, 1}, 512 * 1024, kThreshold);
  std::byte* from = allocate(40000);
  std::byte* to = allocate(40000);
  verbs_.failing["regMr"] = ENOMEM;
  carry(from, to + 64, 20000);
  EXPECT_EQ(a().framesWritten(), 0u) << "the sender has no registration";
  release(from);  // makes no room: nothing was registered
  verbs_.failingAfter["regMr"] = 1;
  carry(allocate(40000), to + 64, 20000);
  EXPECT_EQ(a().framesWritten(), 0u) << "the receiver has none";
  EXPECT_EQ(verbs_.liveRegions(), 3u);
}

TEST_P(DirectTest, ManyFramesOfAllKindsInBothDirections) {
  make({4, 1024, 2}, 2048, kThreshold);
  std::byte* arena = allocate(1 << 18);
  std::vector<std::byte> plain(1 << 18);
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::byte* from = (random() % 3 == 0 ? plain.data() : arena) + random() % 1000;
    std::byte* to = (random() % 3 == 0 ? plain.data() : arena) + 100000 + random() % 1000;
    carry(from, to, random() % 12000);
    std::swap(ends_[0], ends_[1]);
    verbs_.held = random() % 2 == 0;
    if (!verbs_.held) verbs_.deliver();
  }
  EXPECT_GT(a().framesWritten() + b().framesWritten(), 300u);
}

TEST_P(DirectTest, AnErrorInTheMiddleEndsBothSides) {
  make({4, 1024, 1}, 512 * 1024, kThreshold);
  carryHalf(allocate(40000), allocate(40000), 30000);
  verbs_.sendStatus = IBV_WC_RETRY_EXC_ERR;
  verbs_.deliver();
  EXPECT_EQ(a().send(send_), Io::kFailed);
  EXPECT_THAT(a().failure().text(), HasSubstr("error cqe status[12]"));
  while (b().receive(receive_) == Io::kProgress) {
  }
  EXPECT_EQ(b().receive(receive_), Io::kIdle);
  (void)b().fail("the port is down");
  EXPECT_EQ(b().receive(receive_), Io::kFailed);
}

TEST_P(DirectTest, NothingIsWrittenAfterTheReceiverGaveUp) {
  make({4, 1024, 1}, 512 * 1024, kThreshold);
  std::byte* from = allocate(40000);
  std::byte* to = allocate(40000);
  std::fill_n(from, 40000, std::byte{7});
  std::fill_n(to, 40000, std::byte{1});
  carryHalf(from, to, 30000);
  b().abandon();
  verbs_.deliver();
  EXPECT_EQ(std::count(to, to + 40000, std::byte{1}), 40000);
  EXPECT_EQ(a().send(send_), Io::kFailed);
  EXPECT_EQ(b().receive(receive_), Io::kFailed);
}

TEST_P(DirectTest, GivingUpBetweenFramesLeavesTheLinkAsItIs) {
  make({4, 1024, 1}, 512 * 1024, kThreshold);
  std::byte* from = allocate(40000);
  carry(from, allocate(40000) + 64, 30000);
  a().abandon();
  b().abandon();
  carry(from, allocate(40000) + 64, 30000);
}

std::string signalsOf(const ::testing::TestParamInfo<bool>& param) {
  return param.param ? "Flags" : "Completions";
}
INSTANTIATE_TEST_SUITE_P(Signals, DirectTest, ::testing::Bool(), signalsOf);

}  // namespace
}  // namespace hccl::transport::rdma
