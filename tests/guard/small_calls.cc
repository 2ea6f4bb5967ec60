// Small AllReduces of two ranks in one thread, for counting instructions: rank 0 enqueues, rank 1
// enqueues and thereby ends the operation, rank 0 collects the result. Nobody ever waits, so the
// count is the same in every run.
//   small_calls enqueue|whole CALLS
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hccl/hccl.h"

namespace {

constexpr uint32_t kRanks = 2;
constexpr uint64_t kCount = 16;

void must(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "%s returned %d: %s\n", what, result, aclGetRecentErrMsg());
  std::exit(2);
}
#define MUST(call) must((call), #call)

struct Rank {
  HcclComm comm = nullptr;
  aclrtStream stream = nullptr;
  float* send = nullptr;
  float* recv = nullptr;
};
Rank ranks[kRanks];

void enqueue(uint32_t r) {
  MUST(aclrtSetDevice(static_cast<int32_t>(r)));
  MUST(HcclAllReduce(ranks[r].send, ranks[r].recv, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                     ranks[r].comm, ranks[r].stream));
}

void finish(uint32_t r) {
  MUST(aclrtSynchronizeStream(ranks[r].stream));
}

}  // namespace

// What is counted. Not static, not inlined: the counting tool finds them by their names.
extern "C" __attribute__((noinline)) void countedEnqueue() {
  enqueue(0);
}
extern "C" __attribute__((noinline)) void countedWhole() {
  enqueue(0);
  enqueue(1);
  finish(0);
  finish(1);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool whole = std::strcmp(argv[1], "whole") == 0;
  const int calls = std::atoi(argv[2]);
  MUST(aclInit(nullptr));
  int32_t devices[kRanks] = {0, 1};
  HcclComm comms[kRanks];
  MUST(HcclCommInitAll(kRanks, devices, comms));
  for (uint32_t r = 0; r < kRanks; ++r) {
    Rank& rank = ranks[r];
    rank.comm = comms[r];
    MUST(aclrtSetDevice(static_cast<int32_t>(r)));
    MUST(aclrtCreateStream(&rank.stream));
    void* memory = nullptr;
    MUST(aclrtMalloc(&memory, 2 * kCount * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    rank.send = static_cast<float*>(memory);
    rank.recv = rank.send + kCount;
    for (uint64_t i = 0; i < kCount; ++i) rank.send[i] = static_cast<float>(i);
  }
  const auto rest = [] {
    enqueue(1);
    finish(0);
    finish(1);
  };
  for (int i = 0; i < 20; ++i) {  // plans, pools, caches
    enqueue(0);
    rest();
  }
  for (int i = 0; i < calls; ++i) {
    if (whole) {
      countedWhole();
    } else {
      countedEnqueue();
      rest();
    }
  }
  for (uint64_t i = 0; i < kCount; ++i) {
    if (ranks[1].recv[i] != static_cast<float>(2 * i)) {
      std::fprintf(stderr, "wrong sum\n");
      return 1;
    }
  }
  for (const Rank& rank : ranks) {
    MUST(HcclCommDestroy(rank.comm));
    MUST(aclrtDestroyStream(rank.stream));
    MUST(aclrtFree(rank.send));
  }
  MUST(aclFinalize());
  return 0;
}
