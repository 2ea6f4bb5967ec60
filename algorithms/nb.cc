// NB (nonuniform Bruck). Source: HCCL's algorithm notes (NB); Bruck et al., "Efficient algorithms
// for all-to-all communications in multiport message-passing systems" (1997). p members, S =
// ceil(log2 p). ReduceScatter step k: data goes to r + 2^k, blocks at distances 2^(k+1). AllGather
// step k: the 2^k blocks gathered so far go to r + 2^k (fewer in the last step when p is no power
// of two). Cost as NHR: S alpha + (p-1)/p n (beta + gamma) a half; the steps grow where NHR's
// shrink.
#include "algorithms/strided_algorithm.h"

namespace hccl::algorithms {
namespace {

class Nb final : public StridedAlgorithm {
 private:
  Walk walk(uint32_t, bool) const override { return {-1, {}}; }

  // d = 2^s: from r-d come blocks r-d, r-d-1, ...
  void allGather(const StageArgs& a, uint32_t s, uint32_t r, Buffer own, bool, uint32_t idle,
                 std::vector<Move>& out) const override {
    if (r == idle) return;
    const uint64_t d = uint64_t{1} << s;
    const uint32_t from = mod(static_cast<int64_t>(r) - static_cast<int64_t>(d), a.size);
    const uint64_t count = std::min<uint64_t>(d, a.size - d);
    Move move{r, {r}, {from}, {}};
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t v = mod(static_cast<int64_t>(from) - k, a.size);
      move.refs.push_back({Buffer::kOutput, v});
      move.refs.push_back({from == idle ? Buffer::kInput : v == from ? own : Buffer::kOutput, v});
    }
    out.push_back(std::move(move));
  }
};

}  // namespace

const plan::StageAlgorithm& nb() {
  static const Nb instance;
  return instance;
}

}  // namespace hccl::algorithms
