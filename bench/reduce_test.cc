// reduce_test: HcclReduce, the root gets the reduction of all vectors.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class Reduce final : public Operation {
 public:
  const char* program() const override { return "reduce_test"; }
  const char* purpose() const override { return "HcclReduce: sizes are those of a vector"; }
  bool reduces() const override { return true; }
  double busFactor(double) const override { return 1; }
  Extent extent(const Job& job) const override { return {job.count, job.count}; }
  std::optional<Extent> inPlace(const Job&) const override { return Extent{0, 0}; }
  std::vector<Segment> expected(const Job& job) const override {
    if (job.rank != job.root) return {};
    return {{0, job.count, kReduced, 0}};
  }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    return HcclReduce(buffers.send, buffers.receive, job.count, job.type, job.op, job.root,
                      job.comm, job.stream);
  }
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::Reduce operation;
  return hccl::bench::run(argc, argv, operation);
}
