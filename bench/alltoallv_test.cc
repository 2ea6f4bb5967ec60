// alltoallv_test: HcclAlltoAllV, every rank gives a part of its own size to every rank.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class AlltoAllV final : public Operation {
 public:
  const char* program() const override { return "alltoallv_test"; }
  const char* purpose() const override {
    return "HcclAlltoAllV: sizes are those of all parts that a rank sends; parts are uneven";
  }
  bool divides() const override { return true; }
  double busFactor(double ranks) const override { return shareOfOthers(ranks); }
  void arrange(const Job& job) override {
    sent_ = sentParts(job, job.rank);
    received_ = receivedParts(job, job.rank);
  }
  Extent extent(const Job& job) const override { return {job.count, job.count}; }
  std::vector<Segment> expected(const Job& job) const override { return exchangedSegments(job); }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    return HcclAlltoAllV(buffers.send, sent_.counts.data(), sent_.offsets.data(), job.type,
                         buffers.receive, received_.counts.data(), received_.offsets.data(),
                         job.type, job.comm, job.stream);
  }

 private:
  Parts sent_;
  Parts received_;
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::AlltoAllV operation;
  return hccl::bench::run(argc, argv, operation);
}
