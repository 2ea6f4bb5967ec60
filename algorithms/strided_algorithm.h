// What NHR and NB have in common: every operation is put together from a ReduceScatter, an
// AllGather and a Scatter at growing strides; small data goes through one tree. They differ in
// direction and in AllGather.
#pragma once

#include "algorithms/algorithms.h"
#include "algorithms/strided.h"

namespace hccl::algorithms {

class StridedAlgorithm : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override { return op != StageOp::kAllToAll; }
  bool supportsOneShot(StageOp op) const override {
    return op == StageOp::kAllReduce || op == StageOp::kBroadcast || op == StageOp::kReduce;
  }
  plan::Cost cost(const StageArgs& a) const override;
  uint32_t rounds(const StageArgs& a) const override;
  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override;

 protected:
  // For AllReduce and Broadcast, whose blocks may lie anywhere; otherwise blocks keep their order.
  virtual Walk walk(uint32_t size, bool mapped) const = 0;
  // Step s of AllGather. `own`: the buffer in which a member's own block starts. Member `idle` (the
  // root of a broadcast) takes nothing and gives out of its input; none when it equals the size.
  virtual void allGather(const StageArgs& a, uint32_t s, uint32_t r, Buffer own, bool mapped,
                         uint32_t idle, std::vector<Move>& out) const = 0;

 private:
  void oneShot(const StageArgs& a, uint32_t round, uint32_t owner, std::vector<Move>& out) const;
};

}  // namespace hccl::algorithms
