// One process, one thread for each device: every rank adds its vector to those of the others.
// Written the way programs for Ascend are, with nothing but the public interface.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "hccl/hccl.h"

#define CHECK(call)                                                                        \
  do {                                                                                     \
    const int code = static_cast<int>(call);                                               \
    if (code != 0) {                                                                       \
      const char* text = aclGetRecentErrMsg();                                             \
      std::fprintf(stderr, "%s:%d: %s returned %d: %s\n", __FILE__, __LINE__, #call, code, \
                   text != nullptr ? text : "");                                           \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

namespace {

constexpr uint64_t kCount = 10007;

float input(uint32_t rank, uint64_t i) {
  return static_cast<float>((i * 7 + rank * 3) % 1000);
}

void runRank(uint32_t rank, uint32_t size, const HcclRootInfo* rootInfo) {
  CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfo(size, rootInfo, rank, &comm));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));

  const size_t bytes = kCount * sizeof(float);
  void* sendBuf = nullptr;
  void* recvBuf = nullptr;
  void* hostBuf = nullptr;
  CHECK(aclrtMalloc(&sendBuf, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&recvBuf, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMallocHost(&hostBuf, bytes));
  float* host = static_cast<float*>(hostBuf);
  for (uint64_t i = 0; i < kCount; ++i) host[i] = input(rank, i);
  CHECK(aclrtMemcpy(sendBuf, bytes, hostBuf, bytes, ACL_MEMCPY_HOST_TO_DEVICE));

  CHECK(
      HcclAllReduce(sendBuf, recvBuf, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));

  CHECK(aclrtMemcpy(hostBuf, bytes, recvBuf, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  for (uint64_t i = 0; i < kCount; ++i) {
    float expected = 0;
    for (uint32_t r = 0; r < size; ++r) expected += input(r, i);
    if (host[i] != expected) {
      std::fprintf(stderr, "rank %u, element %lu: %f, expected %f\n", rank,
                   static_cast<unsigned long>(i), static_cast<double>(host[i]),
                   static_cast<double>(expected));
      std::exit(1);
    }
  }

  CHECK(aclrtFree(sendBuf));
  CHECK(aclrtFree(recvBuf));
  CHECK(aclrtFreeHost(hostBuf));
  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(static_cast<int32_t>(rank)));
}

}  // namespace

int main() {
  CHECK(aclInit(nullptr));
  uint32_t size = 0;
  CHECK(aclrtGetDeviceCount(&size));
  if (size > 4) size = 4;
  if (size < 2) {
    std::fprintf(stderr, "two devices are needed: set HCCL_HOST_DEVICES\n");
    return 1;
  }
  CHECK(aclrtSetDevice(0));
  HcclRootInfo rootInfo;
  CHECK(HcclGetRootInfo(&rootInfo));
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < size; ++rank) threads.emplace_back(runRank, rank, size, &rootInfo);
  for (auto& thread : threads) thread.join();
  CHECK(aclFinalize());
  std::printf("all_reduce over %u ranks: success\n", size);
  return 0;
}
