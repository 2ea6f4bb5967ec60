// all_gatherv_test: HcclAllGatherV, every rank gets all parts, which are of two or three sizes.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class AllGatherV final : public Operation {
 public:
  const char* program() const override { return "all_gatherv_test"; }
  const char* purpose() const override {
    return "HcclAllGatherV: sizes are those of all parts together; parts are uneven";
  }
  bool divides() const override { return true; }
  double busFactor(double ranks) const override { return shareOfOthers(ranks); }
  void arrange(const Job& job) override { parts_ = unevenParts(job.part(), job.ranks); }
  Extent extent(const Job& job) const override {
    return {unevenPart(job.part(), job.rank, job.ranks), job.count};
  }
  std::vector<Segment> expected(const Job& job) const override {
    std::vector<Segment> segments;
    for (uint32_t r = 0; r < job.ranks; ++r)
      segments.push_back({parts_.offsets[r], parts_.counts[r], r, 0});
    return segments;
  }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    return HcclAllGatherV(buffers.send, parts_.counts[job.rank], buffers.receive,
                          parts_.counts.data(), parts_.offsets.data(), job.type, job.comm,
                          job.stream);
  }

 private:
  Parts parts_;
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::AllGatherV operation;
  return hccl::bench::run(argc, argv, operation);
}
