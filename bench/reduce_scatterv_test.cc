// reduce_scatterv_test: HcclReduceScatterV, each rank gets its part of the reduction; parts are of
// two or three sizes.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class ReduceScatterV final : public Operation {
 public:
  const char* program() const override { return "reduce_scatterv_test"; }
  const char* purpose() const override {
    return "HcclReduceScatterV: sizes are those of the vector that is reduced; parts are uneven";
  }
  bool reduces() const override { return true; }
  bool divides() const override { return true; }
  double busFactor(double ranks) const override { return shareOfOthers(ranks); }
  void arrange(const Job& job) override { parts_ = unevenParts(job.part(), job.ranks); }
  Extent extent(const Job& job) const override {
    return {job.count, unevenPart(job.part(), job.rank, job.ranks)};
  }
  std::vector<Segment> expected(const Job& job) const override {
    return {{0, parts_.counts[job.rank], kReduced, parts_.offsets[job.rank]}};
  }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    return HcclReduceScatterV(buffers.send, parts_.counts.data(), parts_.offsets.data(),
                              buffers.receive, parts_.counts[job.rank], job.type, job.op, job.comm,
                              job.stream);
  }

 private:
  Parts parts_;
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::ReduceScatterV operation;
  return hccl::bench::run(argc, argv, operation);
}
