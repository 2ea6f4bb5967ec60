// One process, one thread for each device. HcclCommInitAll makes all communicators at once; then
// each thread works as one rank.
//   ./single_process
#include <thread>
#include <vector>

#include "common.h"

namespace {

constexpr uint64_t kPart = 4096;  // elements that each rank contributes

// Gathers the parts of all ranks on all ranks.
void gather(uint32_t rank, uint32_t size, int32_t device, HcclComm comm) {
  CHECK(aclrtSetDevice(device));  // the current device belongs to the thread
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));

  const size_t partBytes = kPart * sizeof(float);
  const size_t allBytes = size * partBytes;
  void* part = nullptr;
  void* all = nullptr;
  CHECK(aclrtMalloc(&part, partBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&all, allBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<float> host(size * kPart, static_cast<float>(rank));
  CHECK(aclrtMemcpy(part, partBytes, host.data(), partBytes, ACL_MEMCPY_HOST_TO_DEVICE));

  CHECK(HcclAllGather(part, all, kPart, HCCL_DATA_TYPE_FP32, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));

  CHECK(aclrtMemcpy(host.data(), allBytes, all, allBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  for (uint32_t r = 0; r < size; ++r) {
    expectAll(&host[r * kPart], kPart, static_cast<float>(r), rank);
  }

  CHECK(aclrtFree(part));
  CHECK(aclrtFree(all));
  CHECK(aclrtDestroyStream(stream));
  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtResetDevice(device));
}

}  // namespace

int main() {
  wantDevices("4");
  CHECK(aclInit(nullptr));
  uint32_t size = 0;
  CHECK(aclrtGetDeviceCount(&size));

  std::vector<int32_t> devices;
  for (uint32_t i = 0; i < size; ++i) devices.push_back(static_cast<int32_t>(i));
  std::vector<HcclComm> comms(size);
  CHECK(HcclCommInitAll(size, devices.data(), comms.data()));

  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back(gather, rank, size, devices[rank], comms[rank]);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(aclFinalize());
  std::printf("%u ranks in one process: success\n", size);
  return 0;
}
