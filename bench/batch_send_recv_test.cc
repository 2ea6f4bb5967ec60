// batch_send_recv_test: HcclBatchSendRecv around a ring: one call sends and receives.
#include "bench/parts/runner.h"

namespace hccl::bench {
namespace {

class BatchSendRecv final : public Operation {
 public:
  const char* program() const override { return "batch_send_recv_test"; }
  const char* purpose() const override {
    return "HcclBatchSendRecv: to the next rank and from the previous one";
  }
  double busFactor(double) const override { return 1; }
  Extent extent(const Job& job) const override { return {job.count, job.count}; }
  std::vector<Segment> expected(const Job& job) const override {
    return {{0, job.count, job.previous(), 0}};
  }
  HcclResult call(const Job& job, const Buffers& buffers) const override {
    HcclSendRecvItem items[] = {{HCCL_SEND, buffers.send, job.count, job.type, job.next()},
                                {HCCL_RECV, buffers.receive, job.count, job.type, job.previous()}};
    return HcclBatchSendRecv(items, 2, job.comm, job.stream);
  }
};

}  // namespace
}  // namespace hccl::bench

int main(int argc, char** argv) {
  hccl::bench::BatchSendRecv operation;
  return hccl::bench::run(argc, argv, operation);
}
