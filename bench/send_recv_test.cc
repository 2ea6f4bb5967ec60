// send_recv_test: HcclSend and HcclRecv around a ring. Even ranks send first, so that no circle
// waits.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class SendRecv final : public Operation {
 public:
  const char* program() const override { return "send_recv_test"; }
  const char* purpose() const override {
    return "HcclSend to the next rank and HcclRecv from the previous one";
  }
  uint32_t leastRanks() const override { return 2; }
  double busFactor(double) const override { return 1; }
  Extent extent(const Job& job) const override { return {job.count, job.count}; }
  std::vector<Segment> expected(const Job& job) const override {
    return {{0, job.count, job.previous(), 0}};
  }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    const bool sendsFirst = job.rank % 2 == 0;
    const HcclResult first = sendsFirst ? send(job, buffers) : receive(job, buffers);
    if (first != HCCL_SUCCESS) return first;
    return sendsFirst ? receive(job, buffers) : send(job, buffers);
  }

 private:
  static HcclResult send(const Job& job, const Buffers& buffers) {
    return HcclSend(buffers.send, job.count, job.type, job.next(), job.comm, job.stream);
  }
  static HcclResult receive(const Job& job, const Buffers& buffers) {
    return HcclRecv(buffers.receive, job.count, job.type, job.previous(), job.comm, job.stream);
  }
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::SendRecv operation;
  return hccl::bench::run(argc, argv, operation);
}
