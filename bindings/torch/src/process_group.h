// The c10d backend "hccl": collectives and messages of CPU tensors.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "communicator.h"
#include "completer.h"
#include "point_to_point.h"
#include "reduction.h"
#include "tensors.h"
#include "torch_api.h"
#include "work.h"

namespace hccl_torch {

class ProcessGroupHccl : public BackendBase {
 public:
  using Timeout = std::chrono::milliseconds;

  // Joins the other members through the store, or becomes a part of the world group's communicator
  // when that is one of this backend. Blocks until the members have come.
  static c10::intrusive_ptr<ProcessGroupHccl> create(
      const c10d::DistributedBackendOptions& options);

  ProcessGroupHccl(int rank, int size, std::shared_ptr<Communicator> communicator, Timeout timeout);
  ~ProcessGroupHccl() override;

  const std::string getBackendName() const override { return "hccl"; }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& outputSplits,
                        std::vector<int64_t>& inputSplits,
                        const c10d::AllToAllOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs,
                   const c10d::AllToAllOptions& options) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool waitAllRanks) override;
  WorkPtr send(Tensors& tensors, int destination, int tag) override;
  WorkPtr recv(Tensors& tensors, int source, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
#if TORCH_VERSION_MAJOR >= 2
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override;
#endif

  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override {
    return sequence_;
  }

  // Ends threads and communicators; the group cannot be used afterwards. May be called again. Newer
  // versions of 2.x have such a method themselves.
  void shutdown();

 private:
  struct Call {
    c10d::OpType type;
    const char* title;
    std::chrono::milliseconds timeout;
  };
  struct Parts;  // counts and displacements of one block for each rank

  template <class Calls>
  WorkPtr launch(const Call& call, const Tensors& inputs, const Tensors& outputs,
                 const Tensors& memory, HcclWork::LastStep last, Calls calls);
  WorkPtr reduceAll(const Call& call, const Tensors& tensors, c10d::ReduceOp op);
  WorkPtr reduceParts(const Call& call, const Tensors& inputs, const at::Tensor& output,
                      c10d::ReduceOp op);
  // What a work shows of itself when that is not what it moves, and its last step.
  struct Instead {
    Tensors inputs;
    Tensors outputs;
    HcclWork::LastStep last;
  };
  WorkPtr gatherParts(const Call& call, const at::Tensor& input, const Tensors& outputs,
                      const std::optional<Instead>& instead = std::nullopt);
  WorkPtr reduceSparse(Tensors& tensors, const c10d::AllreduceOptions& options);
  WorkPtr exchange(const Call& call, const Tensors& inputs, const Tensors& outputs,
                   const Block& from, const Block& to, const Parts& sent, const Parts& received);
  uint64_t begin();
  void remember(c10::intrusive_ptr<HcclWork> work);
  PointToPoint& messages();
  c10::intrusive_ptr<HcclWork> note(int rank, int64_t tag, bool send);
  void reportTo0(int64_t tag, Timeout timeout);
  Deadline deadlineOf(std::chrono::milliseconds timeout) const;

  const std::shared_ptr<Communicator> communicator_;
  const Timeout timeout_;
  const std::shared_ptr<Completer> completer_;
  std::mutex mutex_;
  std::deque<c10::intrusive_ptr<HcclWork>> pending_;
  std::unique_ptr<PointToPoint> messages_;
  uint64_t sequence_ = 0;
  bool ended_ = false;
};

// Ends all groups that still exist, before the interpreter goes.
void shutdownAll();

}  // namespace hccl_torch
