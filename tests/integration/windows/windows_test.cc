// Symmetric windows between ranks: what a rank stores through a peer pointer the peer sees, in the
// same process and in another one (atomically here: the ranks meet outside of what a thread
// sanitizer understands); where memory cannot be reached the call says so. Registered memory is
// exchanged, and collectives run on windows.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <vector>

#include "hccl/hccl_sym_win.h"
#include "tests/integration/support/job.h"
#include "tests/integration/support/rank.h"

namespace hccl::multirank {
namespace {

constexpr uint32_t kRanks = 3;
constexpr size_t kWords = 5000;
constexpr size_t kBytes = kWords * sizeof(uint64_t);

uint64_t wordOf(uint32_t writer, uint32_t owner, size_t index) {
  return (uint64_t{writer} << 48) | (uint64_t{owner} << 32) | index;
}

uint64_t* allocate() {
  void* memory = nullptr;
  HCCL_MUST(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  return static_cast<uint64_t*>(memory);
}

// Every rank fills its own stripe of every peer's window, and finds the peers' stripes in its own.
void storeThroughPointers(Rank& rank) {
  Session session(static_cast<int32_t>(rank.rank()));
  const HcclComm comm = openByRootInfo(rank);
  uint64_t* own = allocate();
  std::memset(own, 0, kBytes);
  HcclCommSymWindow window = nullptr;
  HCCL_MUST(HcclCommSymWinRegister(comm, own, kBytes, &window, 1));
  const size_t stripe = kWords / kRanks;
  for (uint32_t peer = 0; peer < rank.ranks(); ++peer) {
    const size_t first = rank.rank() * stripe;
    void* pointer = nullptr;
    HCCL_MUST(HcclSymWinGetPeerPointer(window, first * sizeof(uint64_t), peer, &pointer));
    auto* words = static_cast<uint64_t*>(pointer);
    for (size_t i = 0; i < stripe; ++i) {
      std::atomic_ref(words[i]).store(wordOf(rank.rank(), peer, i), std::memory_order_release);
    }
  }
  rank.meet();
  for (uint32_t writer = 0; writer < rank.ranks(); ++writer) {
    for (size_t i = 0; i < stripe; ++i) {
      const uint64_t found =
          std::atomic_ref(own[writer * stripe + i]).load(std::memory_order_acquire);
      if (found != wordOf(writer, rank.rank(), i)) {
        rank.fail("word " + std::to_string(i) + " of writer " + std::to_string(writer) + " is " +
                  std::to_string(found));
        break;
      }
    }
  }
  HCCL_MUST(HcclCommSymWinDeregister(window));
  rank.meet();
  HCCL_MUST(aclrtFree(own));
  HCCL_MUST(HcclCommDestroy(comm));
}

// Links without shared memory: no pointer, and the text names the peer.
void refusePointers(Rank& rank) {
  Session session(static_cast<int32_t>(rank.rank()));
  const HcclComm comm = openByRootInfo(rank);
  uint64_t* own = allocate();
  HcclCommSymWindow window = nullptr;
  HCCL_MUST(HcclCommSymWinRegister(comm, own, kBytes, &window, 1));
  const uint32_t peer = (rank.rank() + 1) % rank.ranks();
  void* pointer = nullptr;
  const HcclResult result = HcclSymWinGetPeerPointer(window, 0, peer, &pointer);
  expect(result == HCCL_E_NOT_SUPPORT,
         "expected HCCL_E_NOT_SUPPORT, got " + std::to_string(result));
  const std::string text = takeErrorText();
  expect(text.find("EI") != std::string::npos &&
             text.find("rank " + std::to_string(peer)) != std::string::npos,
         "the text does not name the peer: " + text);
  rank.meet();  // a peer that has left is another error
  HCCL_MUST(HcclCommSymWinDeregister(window));
  HCCL_MUST(HcclCommDestroy(comm));
  HCCL_MUST(aclrtFree(own));
}

void reduceInWindow(Rank& rank) {
  Session session(static_cast<int32_t>(rank.rank()));
  const HcclComm comm = openByRootInfo(rank);
  uint64_t* own = allocate();
  void* handle = nullptr;
  HCCL_MUST(HcclCommRegister(comm, own, kBytes, &handle, 0));
  std::vector<uint32_t> peers;
  for (uint32_t peer = 0; peer < rank.ranks(); ++peer) {
    if (peer != rank.rank()) peers.push_back(peer);
  }
  HCCL_MUST(HcclCommExchangeMem(comm, handle, peers.data(), static_cast<uint32_t>(peers.size())));
  HcclCommSymWindow window = nullptr;
  HCCL_MUST(HcclCommSymWinRegister(comm, own, kBytes, &window, 1));
  std::iota(own, own + kWords, rank.rank());
  HCCL_MUST(HcclAllReduce(own, own, kWords, HCCL_DATA_TYPE_UINT64, HCCL_REDUCE_SUM, comm,
                          session.stream()));
  session.synchronise();
  for (size_t i = 0; i < kWords; ++i) {
    const uint64_t sum = kRanks * i + kRanks * (kRanks - 1) / 2;
    if (own[i] == sum) continue;
    rank.fail("element " + std::to_string(i) + " is " + std::to_string(own[i]));
    break;
  }
  HCCL_MUST(HcclCommSymWinDeregister(window));
  HCCL_MUST(HcclCommDeregister(comm, handle));
  HCCL_MUST(HcclCommDestroy(comm));
  HCCL_MUST(aclrtFree(own));
}

const RegisterBody kStore("store", storeThroughPointers);
const RegisterBody kRefuse("refuse", refusePointers);
const RegisterBody kReduce("reduce", reduceInWindow);

JobResult run(const char* body, Launch launch, const char* transport) {
  JobSpec spec;
  spec.body = body;
  spec.ranks = kRanks;
  spec.launch = launch;
  spec.environment["HCCL_TRANSPORT"] = transport;
  return runJob(spec);
}

TEST(Windows, StoresAreSeenByThreads) {
  const JobResult result = run("store", Launch::kThreads, "auto");
  EXPECT_TRUE(result.ok()) << result.text();
}
TEST(Windows, StoresAreSeenByProcesses) {
  const JobResult result = run("store", Launch::kProcesses, "auto");
  EXPECT_TRUE(result.ok()) << result.text();
}
TEST(Windows, NoPointerWithoutSharedMemory) {
  const JobResult result = run("refuse", Launch::kProcesses, "tcp");
  EXPECT_TRUE(result.ok()) << result.text();
}
TEST(Windows, CollectivesOnWindowMemory) {
  for (const char* transport : {"shm", "tcp"}) {
    const JobResult result = run("reduce", Launch::kProcesses, transport);
    EXPECT_TRUE(result.ok()) << transport << ": " << result.text();
  }
}

}  // namespace
}  // namespace hccl::multirank
