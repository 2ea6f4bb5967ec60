// One process for each rank, started by mpirun. Rank 0 makes the root information, MPI carries it
// to the others, and every rank adds its vector to those of all.
//   mpirun -n 4 ./allreduce_test
// Without mpirun it runs with one rank.
#include <mpi.h>

#include <vector>

#include "common.h"

namespace {

constexpr uint64_t kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(float);

HcclComm makeCommunicator(uint32_t rank, uint32_t size) {
  HcclRootInfo rootInfo;
  if (rank == 0) CHECK(HcclGetRootInfo(&rootInfo));
  MPI_Bcast(&rootInfo, sizeof(rootInfo), MPI_BYTE, 0, MPI_COMM_WORLD);
  HcclComm comm = nullptr;
  CHECK(HcclCommInitRootInfo(size, &rootInfo, rank, &comm));
  return comm;
}

void addUp(uint32_t rank, uint32_t size, HcclComm comm) {
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  void* sendBuf = nullptr;
  void* recvBuf = nullptr;
  CHECK(aclrtMalloc(&sendBuf, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&recvBuf, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));

  // Rank r contributes r + 1 everywhere, so that the sum is 1 + 2 + ... + size.
  std::vector<float> host(kCount, static_cast<float>(rank + 1));
  CHECK(aclrtMemcpy(sendBuf, kBytes, host.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));

  // The call only enqueues; the result is there when the stream is synchronised.
  CHECK(
      HcclAllReduce(sendBuf, recvBuf, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));

  CHECK(aclrtMemcpy(host.data(), kBytes, recvBuf, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  const uint32_t sum = size * (size + 1) / 2;
  expectAll(host.data(), kCount, static_cast<float>(sum), rank);

  CHECK(aclrtFree(sendBuf));
  CHECK(aclrtFree(recvBuf));
  CHECK(aclrtDestroyStream(stream));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  CHECK(aclInit(nullptr));
  uint32_t devices = 0;
  CHECK(aclrtGetDeviceCount(&devices));
  const int32_t device = rank % static_cast<int32_t>(devices);
  CHECK(aclrtSetDevice(device));

  HcclComm comm = makeCommunicator(static_cast<uint32_t>(rank), static_cast<uint32_t>(size));
  addUp(static_cast<uint32_t>(rank), static_cast<uint32_t>(size), comm);
  std::printf("rank %d of %d on device %d: success\n", rank, size, device);

  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());
  MPI_Finalize();
  return 0;
}
