// reduce_scatter_test: HcclReduceScatter, each rank gets its part of the reduction.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class ReduceScatter final : public Operation {
 public:
  const char* program() const override { return "reduce_scatter_test"; }
  const char* purpose() const override {
    return "HcclReduceScatter: sizes are those of the vector that is reduced";
  }
  bool reduces() const override { return true; }
  bool divides() const override { return true; }
  double busFactor(double ranks) const override { return shareOfOthers(ranks); }
  Extent extent(const Job& job) const override { return {job.count, job.part()}; }
  std::optional<Extent> inPlace(const Job& job) const override {
    return Extent{0, job.rank * job.part()};
  }
  std::vector<Segment> expected(const Job& job) const override {
    return {{0, job.part(), kReduced, job.rank * job.part()}};
  }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    return HcclReduceScatter(buffers.send, buffers.receive, job.part(), job.type, job.op, job.comm,
                             job.stream);
  }
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::ReduceScatter operation;
  return hccl::bench::run(argc, argv, operation);
}
