// all_reduce_test: HcclAllReduce, every rank gets the reduction of all vectors.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class AllReduce final : public Operation {
 public:
  const char* program() const override { return "all_reduce_test"; }
  const char* purpose() const override { return "HcclAllReduce: sizes are those of a vector"; }
  bool reduces() const override { return true; }
  double busFactor(double ranks) const override { return 2 * shareOfOthers(ranks); }
  Extent extent(const Job& job) const override { return {job.count, job.count}; }
  std::optional<Extent> inPlace(const Job&) const override { return Extent{0, 0}; }
  std::vector<Segment> expected(const Job& job) const override {
    return {{0, job.count, kReduced, 0}};
  }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    return HcclAllReduce(buffers.send, buffers.receive, job.count, job.type, job.op, job.comm,
                         job.stream);
  }
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::AllReduce operation;
  return hccl::bench::run(argc, argv, operation);
}
