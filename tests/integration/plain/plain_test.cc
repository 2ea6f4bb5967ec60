// Plain memory of processes that share a server: read where it is, staged, or one rank each way.
// Values are right in all cases, for lengths that fill no chunk and buffers that are aligned to
// nothing but their elements.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/personality.h>

#include <vector>

#include "tests/integration/support/job.h"
#include "tests/integration/support/rank.h"

namespace hccl::multirank {
namespace {

constexpr uint32_t kRanks = 3;
constexpr auto kWord = HCCL_DATA_TYPE_UINT64;

// Word `i` that `from` has for `to`.
uint64_t word(uint64_t from, uint64_t to, uint64_t i) {
  return from * 1000003 + to * 10007 + i;
}

// Words in plain memory behind a guard word.
class Words {
 public:
  explicit Words(uint64_t count) : words_(count + 2, kGuard) {}
  uint64_t* data() { return words_.data() + 1; }
  uint64_t& operator[](uint64_t i) { return words_[i + 1]; }
  bool isGuarded() const { return words_.front() == kGuard && words_.back() == kGuard; }

 private:
  static constexpr uint64_t kGuard = 0x5ca1ab1e;
  std::vector<uint64_t> words_;
};

class Mover {
 public:
  Mover(Rank& rank, HcclComm comm, aclrtStream stream, uint64_t count)
      : rank_(rank), comm_(comm), stream_(stream), me_(rank.rank()), count_(count) {}

  void all() {
    Words block(count_);
    Words blocks(kRanks * count_);
    for (uint64_t i = 0; i < count_; ++i) block[i] = word(me_, 0, i);
    for (uint64_t i = 0; i < kRanks * count_; ++i) blocks[i] = word(me_, i / count_, i % count_);

    Words gathered(kRanks * count_);
    HCCL_MUST(HcclAllGather(block.data(), gathered.data(), count_, kWord, comm_, stream_));
    check("AllGather", gathered, kRanks * count_,
          [&](uint64_t i) { return word(i / count_, 0, i % count_); });

    Words swapped(kRanks * count_);
    HCCL_MUST(
        HcclAlltoAll(blocks.data(), count_, kWord, swapped.data(), count_, kWord, comm_, stream_));
    check("AlltoAll", swapped, kRanks * count_,
          [&](uint64_t i) { return word(i / count_, me_, i % count_); });

    Words part(count_);
    HCCL_MUST(HcclReduceScatter(blocks.data(), part.data(), count_, kWord, HCCL_REDUCE_SUM, comm_,
                                stream_));
    check("ReduceScatter", part, count_, [&](uint64_t i) { return sum(me_, i); });

    HCCL_MUST(
        HcclAllReduce(block.data(), block.data(), count_, kWord, HCCL_REDUCE_SUM, comm_, stream_));
    check("AllReduce in place", block, count_, [&](uint64_t i) { return sum(0, i); });

    Words spread(count_);
    for (uint64_t i = 0; i < count_; ++i) spread[i] = me_ == 1 ? word(1, 5, i) : 0;
    HCCL_MUST(HcclBroadcast(spread.data(), count_, kWord, 1, comm_, stream_));
    check("Broadcast", spread, count_, [](uint64_t i) { return word(1, 5, i); });

    Words received(count_);
    const uint32_t next = (me_ + 1) % kRanks;
    const uint32_t previous = (me_ + kRanks - 1) % kRanks;
    HcclSendRecvItem items[2] = {{HCCL_SEND, blocks.data(), count_, kWord, next},
                                 {HCCL_RECV, received.data(), count_, kWord, previous}};
    HCCL_MUST(HcclBatchSendRecv(items, 2, comm_, stream_));
    check("BatchSendRecv", received, count_, [&](uint64_t i) { return word(previous, 0, i); });
  }

 private:
  static uint64_t sum(uint64_t to, uint64_t i) {
    uint64_t total = 0;
    for (uint64_t from = 0; from < kRanks; ++from) total += word(from, to, i);
    return total;
  }

  template <typename Expected>
  void check(const char* what, Words& words, uint64_t count, Expected expected) {
    HCCL_MUST(aclrtSynchronizeStream(stream_));
    if (!words.isGuarded()) rank_.fail(std::string(what) + " wrote beside its output");
    for (uint64_t i = 0; i < count; ++i) {
      if (words[i] == expected(i)) continue;
      return rank_.fail(std::string(what) + " of " + std::to_string(count_) + ": word " +
                        std::to_string(i) + " is " + std::to_string(words[i]) + ", not " +
                        std::to_string(expected(i)));
    }
  }

  Rank& rank_;
  HcclComm comm_;
  aclrtStream stream_;
  const uint64_t me_;
  const uint64_t count_;
};

void move(Rank& rank) {
  Session session(static_cast<int32_t>(rank.rank()));
  const HcclComm comm = openByRootInfo(rank);
  for (const uint64_t count : {1, 127, 129, 2049, 40001, 400009}) {
    Mover(rank, comm, session.stream(), count).all();
  }
  HCCL_MUST(HcclCommDestroy(comm));
}

const RegisterBody kMove("move", move);

JobResult run(const char* leastKb, const char* ofRankOne) {
  JobSpec spec;
  spec.body = "move";
  spec.ranks = kRanks;
  spec.launch = Launch::kProcesses;
  spec.environment["HCCL_HOST_READ_KB"] = leastKb;
  spec.prepare = [ofRankOne](uint32_t first) {
    // The same places in all processes: another process' address may be one of the own buffers.
    (void)::personality(ADDR_NO_RANDOMIZE);
    if (first == 1) ::setenv("HCCL_HOST_READ_KB", ofRankOne, 1);
  };
  return runJob(spec);
}

TEST(PlainMemory, IsRead) {
  const JobResult result = run("1", "1");
  EXPECT_TRUE(result.ok()) << result.text();
}
TEST(PlainMemory, IsStaged) {
  const JobResult result = run("0", "0");
  EXPECT_TRUE(result.ok()) << result.text();
}
TEST(PlainMemory, OneRankDiffers) {
  for (const char* theirs : {"0", "64"}) {
    const JobResult result = run("1", theirs);
    EXPECT_TRUE(result.ok()) << theirs << ": " << result.text();
  }
}

}  // namespace
}  // namespace hccl::multirank
