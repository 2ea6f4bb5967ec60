// alltoallvc_test: HcclAlltoAllVC, as alltoallv_test, with the counts of all ranks in one matrix.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class AlltoAllVC final : public Operation {
 public:
  const char* program() const override { return "alltoallvc_test"; }
  const char* purpose() const override {
    return "HcclAlltoAllVC: sizes are those of all parts that a rank sends; parts are uneven";
  }
  bool divides() const override { return true; }
  double busFactor(double ranks) const override { return shareOfOthers(ranks); }
  void arrange(const Job& job) override {
    matrix_.clear();
    for (uint32_t from = 0; from < job.ranks; ++from) {
      for (uint32_t to = 0; to < job.ranks; ++to) matrix_.push_back(exchanged(job, from, to));
    }
  }
  Extent extent(const Job& job) const override { return {job.count, job.count}; }
  std::vector<Segment> expected(const Job& job) const override { return exchangedSegments(job); }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    return HcclAlltoAllVC(buffers.send, matrix_.data(), job.type, buffers.receive, job.type,
                          job.comm, job.stream);
  }

 private:
  std::vector<uint64_t> matrix_;
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::AlltoAllVC operation;
  return hccl::bench::run(argc, argv, operation);
}
