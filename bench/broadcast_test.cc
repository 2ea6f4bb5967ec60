// broadcast_test: HcclBroadcast, every rank gets the root's vector, in the one buffer that the call
// has.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class Broadcast final : public Operation {
 public:
  const char* program() const override { return "broadcast_test"; }
  const char* purpose() const override { return "HcclBroadcast: sizes are those of the vector"; }
  double busFactor(double) const override { return 1; }
  Extent extent(const Job& job) const override { return {job.count, job.count}; }
  std::optional<Extent> inPlace(const Job&) const override { return Extent{0, 0}; }
  bool alwaysInPlace() const override { return true; }
  std::vector<Segment> input(const Job& job) const override {
    if (job.rank != job.root) return {};
    return {{0, job.count, job.root, 0}};
  }
  std::vector<Segment> expected(const Job& job) const override {
    return {{0, job.count, job.root, 0}};
  }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    return HcclBroadcast(buffers.receive, job.count, job.type, job.root, job.comm, job.stream);
  }
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::Broadcast operation;
  return hccl::bench::run(argc, argv, operation);
}
