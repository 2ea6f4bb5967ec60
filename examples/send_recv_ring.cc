// A token goes around a ring: every rank receives it from the previous rank, adds its number and
// sends it on. Then all ranks pass a vector to the next one at the same time, which needs a batch.
//   ./send_recv_ring
#include <thread>
#include <vector>

#include "common.h"

namespace {

constexpr uint64_t kCount = 5000;
constexpr size_t kBytes = kCount * sizeof(float);

struct Rank {
  uint32_t id;
  uint32_t next;
  uint32_t previous;
  HcclComm comm;
  aclrtStream stream;
};

// Rank 0 begins and gets the token back.
void passToken(const Rank& rank, uint32_t size) {
  void* token = nullptr;
  CHECK(aclrtMalloc(&token, sizeof(int32_t), ACL_MEM_MALLOC_HUGE_FIRST));
  int32_t value = 0;
  if (rank.id == 0) {
    CHECK(aclrtMemcpy(token, sizeof(value), &value, sizeof(value), ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(HcclSend(token, 1, HCCL_DATA_TYPE_INT32, rank.next, rank.comm, rank.stream));
  }
  CHECK(HcclRecv(token, 1, HCCL_DATA_TYPE_INT32, rank.previous, rank.comm, rank.stream));
  CHECK(aclrtSynchronizeStream(rank.stream));
  CHECK(aclrtMemcpy(&value, sizeof(value), token, sizeof(value), ACL_MEMCPY_DEVICE_TO_HOST));
  if (rank.id == 0) {
    const auto expected = static_cast<int32_t>(size * (size - 1) / 2);
    std::printf("the token came back with %d, expected %d\n", value, expected);
    if (value != expected) std::exit(1);
  } else {
    value += static_cast<int32_t>(rank.id);
    CHECK(aclrtMemcpy(token, sizeof(value), &value, sizeof(value), ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(HcclSend(token, 1, HCCL_DATA_TYPE_INT32, rank.next, rank.comm, rank.stream));
    CHECK(aclrtSynchronizeStream(rank.stream));
  }
  CHECK(aclrtFree(token));
}

// If every rank called HcclSend first, all would wait for a receiver. One batch does both at once.
void passVectors(const Rank& rank) {
  void* out = nullptr;
  void* in = nullptr;
  CHECK(aclrtMalloc(&out, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&in, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<float> host(kCount, static_cast<float>(rank.id));
  CHECK(aclrtMemcpy(out, kBytes, host.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  HcclSendRecvItem items[2] = {{HCCL_SEND, out, kCount, HCCL_DATA_TYPE_FP32, rank.next},
                               {HCCL_RECV, in, kCount, HCCL_DATA_TYPE_FP32, rank.previous}};
  CHECK(HcclBatchSendRecv(items, 2, rank.comm, rank.stream));
  CHECK(aclrtSynchronizeStream(rank.stream));
  CHECK(aclrtMemcpy(host.data(), kBytes, in, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  expectAll(host.data(), kCount, static_cast<float>(rank.previous), rank.id);
  CHECK(aclrtFree(out));
  CHECK(aclrtFree(in));
}

void runRank(uint32_t id, uint32_t size, const HcclRootInfo* rootInfo) {
  CHECK(aclrtSetDevice(static_cast<int32_t>(id)));
  Rank rank = {id, (id + 1) % size, (id + size - 1) % size, nullptr, nullptr};
  CHECK(HcclCommInitRootInfo(size, rootInfo, id, &rank.comm));
  CHECK(aclrtCreateStream(&rank.stream));
  passToken(rank, size);
  passVectors(rank);
  CHECK(HcclCommDestroy(rank.comm));
  CHECK(aclrtDestroyStream(rank.stream));
  CHECK(aclrtResetDevice(static_cast<int32_t>(id)));
}

}  // namespace

int main() {
  wantDevices("4");
  CHECK(aclInit(nullptr));
  uint32_t size = 0;
  CHECK(aclrtGetDeviceCount(&size));
  if (size < 2) {
    std::fprintf(stderr, "a ring needs two devices: HCCL_HOST_DEVICES\n");
    return 2;
  }
  CHECK(aclrtSetDevice(0));
  HcclRootInfo rootInfo;
  CHECK(HcclGetRootInfo(&rootInfo));
  std::vector<std::thread> threads;
  for (uint32_t id = 0; id < size; ++id) threads.emplace_back(runRank, id, size, &rootInfo);
  for (std::thread& thread : threads) thread.join();
  CHECK(aclFinalize());
  std::printf("ring of %u ranks: success\n", size);
  return 0;
}
