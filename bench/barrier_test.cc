// barrier_test: HcclBarrier. It has no size: one row, with 0 bytes. The check makes the root late.
#include <cstdio>

#include "bench/parts/error.h"
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class Barrier final : public Operation {
 public:
  const char* program() const override { return "barrier_test"; }
  const char* purpose() const override { return "HcclBarrier: sizes and types mean nothing"; }
  bool movesData() const override { return false; }
  double busFactor(double) const override { return 0; }
  Extent extent(const Job&) const override { return {}; }
  std::vector<Segment> expected(const Job&) const override { return {}; }
  HcclResult call(const Job& job, const Buffers&) const override {
    return HcclBarrier(job.comm, job.stream);
  }

  // While the root has not come to the barrier, no other rank may have passed it.
  bool checkEffect(const Job& job, const Launch& launch) const override {
    launch.barrier();
    bool early = false;
    if (job.rank != job.root) {
      require(call(job, {}), program());
      early = passes(job.stream);
    }
    launch.barrier();
    if (job.rank == job.root) require(call(job, {}), program());
    require(aclrtSynchronizeStream(job.stream), "aclrtSynchronizeStream");
    if (early) {
      std::printf("local rank_id %u, check result failed, the barrier did not wait for the root\n",
                  job.rank);
    }
    return !early;
  }

 private:
  static bool passes(aclrtStream stream) {
    constexpr int32_t kPatienceMs = 20;
    return aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs) == ACL_SUCCESS;
  }
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::Barrier operation;
  return hccl::bench::run(argc, argv, operation);
}
