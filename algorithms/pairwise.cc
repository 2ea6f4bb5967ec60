// Pairwise exchange for AlltoAll. Source: HCCL's algorithm notes (pairwise); Thakur, Rabenseifner &
// Gropp, "Optimization of collective communication operations in MPICH" (2005). Step k = 1..p-1:
// receive from r-k while r+k receives from here; the own part is copied in step 0's shadow. Cost:
// (p-1) alpha + beta times the sum of the steps' largest messages.
#include "algorithms/algorithms.h"
#include "algorithms/moves_builder.h"

namespace hccl::algorithms {
namespace {

class Pairwise final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override { return op == StageOp::kAllToAll; }
  bool paced() const override { return true; }
  uint32_t rounds(const StageArgs& a) const override { return a.size; }
  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    const uint32_t from = mod(int64_t{owner} - round, a.size);
    out.push_back(copyMove({owner, Buffer::kOutput, from}, {from, Buffer::kInput, owner}));
  }
};

}  // namespace

const plan::StageAlgorithm& pairwise() {
  static const Pairwise instance;
  return instance;
}

}  // namespace hccl::algorithms
