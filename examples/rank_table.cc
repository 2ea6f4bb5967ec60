// One process for each rank, and no launcher: a rank table says who takes part and where. Each
// process is told the file and its own rank.
//   ./rank_table tables/one_server.json 0 &
//   ./rank_table tables/one_server.json 1 &
//   wait
#include <string>
#include <vector>

#include "common.h"

namespace {

constexpr uint64_t kCount = 1000;
constexpr size_t kBytes = kCount * sizeof(float);

// Root 0 hands the same vector to every rank.
void receiveFromRoot(uint32_t rank, HcclComm comm) {
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  void* buf = nullptr;
  CHECK(aclrtMalloc(&buf, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<float> host(kCount, rank == 0 ? 42.0F : 0.0F);
  CHECK(aclrtMemcpy(buf, kBytes, host.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));

  CHECK(HcclBroadcast(buf, kCount, HCCL_DATA_TYPE_FP32, 0, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));

  CHECK(aclrtMemcpy(host.data(), kBytes, buf, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  expectAll(host.data(), kCount, 42.0F, rank);
  CHECK(aclrtFree(buf));
  CHECK(aclrtDestroyStream(stream));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: rank_table TABLE.json RANK\n");
    return 2;
  }
  const auto rank = static_cast<uint32_t>(std::stoul(argv[2]));
  wantDevices("8");
  CHECK(aclInit(nullptr));
  // The table names a device for each rank. In the tables here the devices of a server are numbered
  // like its ranks, so that a single server needs no look-up.
  const auto device = static_cast<int32_t>(rank);
  CHECK(aclrtSetDevice(device));

  HcclComm comm = nullptr;
  CHECK(HcclCommInitClusterInfo(argv[1], rank, &comm));
  uint32_t size = 0;
  CHECK(HcclGetRankSize(comm, &size));
  char name[COMM_NAME_MAX_LENGTH];
  CHECK(HcclGetCommName(comm, name));
  receiveFromRoot(rank, comm);
  std::printf("rank %u of %u in %s: success\n", rank, size, name);

  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());
  return 0;
}
