// Grouped full mesh for large AlltoAll. Source: HCCL's algorithm notes (selection: bounded
// concurrency groups). As the full mesh, but a member works with kFanOut partners at a time, at
// distances 1..4, 5..8 and so on: no receiver is flooded by all others at once, and the links of a
// group still fill each other's gaps. Cost: ceil((p-1)/4) alpha + (p-1)/p n beta.
#include <algorithm>

#include "algorithms/algorithms.h"
#include "algorithms/moves_builder.h"

namespace hccl::algorithms {
namespace {

constexpr uint32_t kFanOut = 4;

class GroupedMesh final : public plan::StageAlgorithm {
 public:
  bool supports(StageOp op) const override { return op == StageOp::kAllToAll; }
  bool paced() const override { return true; }
  uint32_t rounds(const StageArgs& a) const override {
    return std::max(1U, (a.size - 1 + kFanOut - 1) / kFanOut);
  }
  plan::Cost cost(const StageArgs& a) const override {
    return {static_cast<double>(rounds(a)), (a.size - 1.0) / a.size, 0};
  }

  void moves(const StageArgs& a, uint32_t round, uint32_t owner,
             std::vector<Move>& out) const override {
    const uint32_t first = round == 0 ? 0 : round * kFanOut + 1;
    for (uint32_t k = first; k <= (round + 1) * kFanOut && k < a.size; ++k) {
      const uint32_t from = mod(int64_t{owner} + k, a.size);
      out.push_back(copyMove({owner, Buffer::kOutput, from}, {from, Buffer::kInput, owner}));
    }
  }
};

}  // namespace

const plan::StageAlgorithm& groupedMesh() {
  static const GroupedMesh instance;
  return instance;
}

}  // namespace hccl::algorithms
