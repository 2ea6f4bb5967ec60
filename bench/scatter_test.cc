// scatter_test: HcclScatter, each rank gets its part of the root's vector.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class Scatter final : public Operation {
 public:
  const char* program() const override { return "scatter_test"; }
  const char* purpose() const override {
    return "HcclScatter: sizes are those of the root's vector";
  }
  bool divides() const override { return true; }
  double busFactor(double ranks) const override { return shareOfOthers(ranks); }
  Extent extent(const Job& job) const override {
    return {job.rank == job.root ? job.count : 0, job.part()};
  }
  std::optional<Extent> inPlace(const Job& job) const override {
    return Extent{0, job.rank == job.root ? job.root * job.part() : 0};
  }
  std::vector<Segment> expected(const Job& job) const override {
    return {{0, job.part(), job.root, job.rank * job.part()}};
  }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    return HcclScatter(buffers.send, buffers.receive, job.part(), job.type, job.root, job.comm,
                       job.stream);
  }
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::Scatter operation;
  return hccl::bench::run(argc, argv, operation);
}
