// Backend, the base class of backends in 2.x; see README.md.
#pragma once

#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <string>
#include <vector>

namespace c10d {

class Backend : public torch::CustomClassHolder {
 public:
  using Result = c10::intrusive_ptr<Work>;
  using List = std::vector<at::Tensor>;
  using Lists = std::vector<List>;
  using Splits = std::vector<int64_t>;

  Backend(int rank, int size);
  ~Backend() override = 0;

  int getRank() const;
  int getSize() const;
  virtual const std::string getBackendName() const;
  virtual bool supportsSplitting() const;
  virtual bool supportsCoalescing() const;
  virtual void setTimeout(std::chrono::milliseconds timeout);
  virtual void startCoalescing();
  virtual Result endCoalescing();

  virtual Result broadcast(List& tensors, const BroadcastOptions& options = BroadcastOptions());
  virtual Result allreduce(List& tensors, const AllreduceOptions& options = AllreduceOptions());
  virtual Result allreduce_sparse(List& tensors,
                                  const AllreduceOptions& options = AllreduceOptions());
  virtual Result allreduce_coalesced(
      List& tensors, const AllreduceCoalescedOptions& options = AllreduceCoalescedOptions());
  virtual Result reduce(List& tensors, const ReduceOptions& options = ReduceOptions());
  virtual Result allgather(Lists& outputs, List& inputs,
                           const AllgatherOptions& options = AllgatherOptions());
  virtual Result _allgather_base(at::Tensor& output, at::Tensor& input,
                                 const AllgatherOptions& options = AllgatherOptions());
  virtual Result allgather_coalesced(Lists& outputs, List& inputs,
                                     const AllgatherOptions& options = AllgatherOptions());
  virtual Result allgather_into_tensor_coalesced(
      List& outputs, List& inputs, const AllgatherOptions& options = AllgatherOptions());
  virtual Result gather(Lists& outputs, List& inputs,
                        const GatherOptions& options = GatherOptions());
  virtual Result scatter(List& outputs, Lists& inputs,
                         const ScatterOptions& options = ScatterOptions());
  virtual Result reduce_scatter(List& outputs, Lists& inputs,
                                const ReduceScatterOptions& options = ReduceScatterOptions());
  virtual Result _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                      const ReduceScatterOptions& options = ReduceScatterOptions());
  virtual Result reduce_scatter_tensor_coalesced(
      List& outputs, List& inputs, const ReduceScatterOptions& options = ReduceScatterOptions());
  virtual Result alltoall_base(at::Tensor& output, at::Tensor& input, Splits& outputSplits,
                               Splits& inputSplits,
                               const AllToAllOptions& options = AllToAllOptions());
  virtual Result alltoall(List& outputs, List& inputs,
                          const AllToAllOptions& options = AllToAllOptions());
  virtual void monitoredBarrier(const BarrierOptions& options, bool waitAllRanks = false);
  virtual void setSequenceNumberForGroup();
  virtual uint64_t getSequenceNumberForGroup();
  virtual Result send(List& tensors, int destination, int tag);
  virtual Result recv(List& tensors, int source, int tag);
  virtual Result recvAnysource(List& tensors, int tag);
  virtual Result barrier(const BarrierOptions& options = BarrierOptions());
  virtual void abort();
  virtual void shutdown();

 protected:
  void init();

  const int rank_;
  const int size_;
};

}  // namespace c10d
