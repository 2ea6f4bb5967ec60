// Frames that are written from and into registered memory, over a real device: values.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "src/runtime/arena.h"
#include "src/runtime/memory_watch.h"
#include "tests/roce/two_ranks.h"
#include "transport/rdma/rdma_link.h"

namespace hccl::transport {
namespace {

constexpr size_t kThreshold = 128 << 10;

class RoceDirect : public RoceLoad {
 protected:
  static runtime::Arena& arena() { return **runtime::Arena::ofDevice(0); }
  static std::byte* allocate(size_t bytes) {
    return static_cast<std::byte*>(*arena().allocate(bytes));
  }
  static std::byte valueAt(uint64_t seed, size_t i) {
    return static_cast<std::byte>((seed * 40503 + i) * 2654435761U >> 13);
  }
  // A byte in front of the target and one behind it are checked, too.
  void carry(std::byte* from, std::byte* to, size_t bytes) {
    const uint64_t sequence = sequence_ + 1;
    for (size_t i = 0; i < bytes; ++i) from[i] = valueAt(sequence, i);
    std::fill_n(to - 1, bytes + 2, std::byte{0x55});
    RoceLoad::carry(from, to, bytes);
    if (HasFatalFailure()) return;
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; ++i) wrong += to[i] != valueAt(sequence, i) ? 1 : 0;
    EXPECT_EQ(wrong, 0u) << bytes;
    EXPECT_EQ(to[-1], std::byte{0x55});
    EXPECT_EQ(to[bytes], std::byte{0x55});
  }
  uint64_t written() {
    return static_cast<rdma::RdmaLink*>(link(0)->message.get())->framesWritten();
  }
};

TEST_F(RoceDirect, AlignedAndUnalignedBelowAndAboveTheThreshold) {
  open("sizes");
  std::byte* from = allocate(2 << 20);
  std::byte* to = allocate(2 << 20);
  uint64_t expected = 0;
  for (const size_t bytes :
       {size_t{1}, kThreshold - 1, kThreshold, kThreshold + 1, 4 * kThreshold, size_t{1000003}}) {
    for (const size_t shift : {0, 1, 63, 4095}) {
      carry(from + shift, to + 8192 - shift, bytes);
      if (bytes >= kThreshold) ++expected;
      EXPECT_EQ(written(), expected) << bytes;
    }
  }
  for (std::byte* memory : {from, to}) ASSERT_TRUE(arena().release(memory).isOk());
  close();
}

// The pages behind an address change between operations: freed and given back to the system, or
// kept and handed out with other boundaries.
TEST_F(RoceDirect, BuffersThatAreFreedAndAllocatedAnew) {
  open("anew");
  for (size_t round = 0; round < 12; ++round) {
    // Every other round is more than an arena keeps for reuse.
    const size_t room = round % 2 == 0 ? (1 << 20) + round * 4096 : 300 << 20;
    std::byte* from = allocate(room);
    std::byte* to = allocate(1 << 20);
    carry(from + round, to + 64, 500000 + round);
    carry(from + room - 300000, to + 64, 300000);
    for (std::byte* memory : {to, from}) ASSERT_TRUE(arena().release(memory).isOk());
  }
  EXPECT_EQ(written(), 24u);
  close();
}

TEST_F(RoceDirect, MixedWithMemoryThatIsNotRegistered) {
  open("mixed");
  std::byte* device = allocate(2 << 20);
  std::vector<std::byte> plain(2 << 20);
  const runtime::MemoryRange kept{plain.data(), plain.size() / 2};
  carry(plain.data() + 5, device + 1, 400000);
  carry(device, plain.data() + 1, 400000);
  EXPECT_EQ(written(), 0u);
  runtime::keepMemory(kept);
  carry(plain.data() + 5, device + 1, 400000);
  carry(device, plain.data() + 1, 400000);
  EXPECT_EQ(written(), 2u);
  runtime::unkeepMemory(kept);
  carry(plain.data() + 5, device + 1, 400000);
  carry(device, device + (1 << 20), 400000);
  EXPECT_EQ(written(), 3u);
  EXPECT_EQ(roce::objectsOf(::getpid()).regions, 2 + 1) << "cells of both ends, one allocation";
  ASSERT_TRUE(arena().release(device).isOk());
  close();
}

}  // namespace
}  // namespace hccl::transport
