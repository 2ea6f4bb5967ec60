// alltoall_test: HcclAlltoAll, every rank gives an equal part to every rank.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class AlltoAll final : public Operation {
 public:
  const char* program() const override { return "alltoall_test"; }
  const char* purpose() const override {
    return "HcclAlltoAll: sizes are those of all parts that a rank sends";
  }
  bool divides() const override { return true; }
  double busFactor(double ranks) const override { return shareOfOthers(ranks); }
  Extent extent(const Job& job) const override { return {job.count, job.count}; }
  std::vector<Segment> expected(const Job& job) const override {
    std::vector<Segment> segments;
    for (uint32_t r = 0; r < job.ranks; ++r)
      segments.push_back({r * job.part(), job.part(), r, job.rank * job.part()});
    return segments;
  }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    return HcclAlltoAll(buffers.send, job.part(), job.type, buffers.receive, job.part(), job.type,
                        job.comm, job.stream);
  }
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::AlltoAll operation;
  return hccl::bench::run(argc, argv, operation);
}
