// Two smaller communicators out of a large one: the even ranks and the odd ranks add up apart.
//   ./sub_communicator
#include <thread>
#include <vector>

#include "common.h"

namespace {

constexpr uint64_t kCount = 1000;

// A setting of the new communicators; what is not touched comes from the environment.
HcclCommConfig settings(bool even) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  config.hcclBufferSize = 32;  // MB
  std::snprintf(config.hcclUdi, sizeof(config.hcclUdi), "%s ranks", even ? "even" : "odd");
  return config;
}

// The sum over all ranks of comm of each rank's `value`.
float sumOf(float value, uint32_t rank, HcclComm comm) {
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  const size_t bytes = kCount * sizeof(float);
  void* buf = nullptr;
  CHECK(aclrtMalloc(&buf, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<float> host(kCount, value);
  CHECK(aclrtMemcpy(buf, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  // In place: both buffers are the same.
  CHECK(HcclAllReduce(buf, buf, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(host.data(), bytes, buf, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  expectAll(host.data(), kCount, host[0], rank);
  CHECK(aclrtFree(buf));
  CHECK(aclrtDestroyStream(stream));
  return host[0];
}

void runRank(uint32_t rank, uint32_t size, HcclComm world) {
  CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
  const uint32_t parity = rank % 2;
  std::vector<uint32_t> members;  // ranks of the large communicator, in the new order
  for (uint32_t r = parity; r < size; r += 2) members.push_back(r);
  float expected = 0;
  for (uint32_t r : members) expected += static_cast<float>(r);

  HcclCommConfig config = settings(parity == 0);
  HcclComm sub = nullptr;
  CHECK(HcclCreateSubCommConfig(&world, static_cast<uint32_t>(members.size()), members.data(),
                                parity, rank / 2, &config, &sub));
  const float sum = sumOf(static_cast<float>(rank), rank, sub);
  if (sum != expected) {
    std::fprintf(stderr, "rank %u: the sum is %g, expected %g\n", rank, static_cast<double>(sum),
                 static_cast<double>(expected));
    std::exit(1);
  }
  CHECK(HcclCommDestroy(sub));
  CHECK(HcclCommDestroy(world));
  CHECK(aclrtResetDevice(static_cast<int32_t>(rank)));
}

}  // namespace

int main() {
  wantDevices("4");
  CHECK(aclInit(nullptr));
  uint32_t size = 0;
  CHECK(aclrtGetDeviceCount(&size));
  std::vector<int32_t> devices;
  for (uint32_t i = 0; i < size; ++i) devices.push_back(static_cast<int32_t>(i));
  std::vector<HcclComm> worlds(size);
  CHECK(HcclCommInitAll(size, devices.data(), worlds.data()));

  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back(runRank, rank, size, worlds[rank]);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(aclFinalize());
  std::printf("even and odd ranks of %u: success\n", size);
  return 0;
}
