// all_gather_test: HcclAllGather, every rank gets all parts.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class AllGather final : public Operation {
 public:
  const char* program() const override { return "all_gather_test"; }
  const char* purpose() const override {
    return "HcclAllGather: sizes are those of all parts together";
  }
  bool divides() const override { return true; }
  double busFactor(double ranks) const override { return shareOfOthers(ranks); }
  Extent extent(const Job& job) const override { return {job.part(), job.count}; }
  std::optional<Extent> inPlace(const Job& job) const override {
    return Extent{job.rank * job.part(), 0};
  }
  std::vector<Segment> expected(const Job& job) const override {
    std::vector<Segment> segments;
    for (uint32_t r = 0; r < job.ranks; ++r) segments.push_back({r * job.part(), job.part(), r, 0});
    return segments;
  }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    return HcclAllGather(buffers.send, buffers.receive, job.part(), job.type, job.comm, job.stream);
  }
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::AllGather operation;
  return hccl::bench::run(argc, argv, operation);
}
