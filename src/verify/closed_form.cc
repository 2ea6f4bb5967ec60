#include "src/verify/closed_form.h"

#include <bit>

namespace hccl::verify {
namespace {

using plan::StageOp;

struct Terms {  // time = steps * alpha + sent * beta + reduced * gamma
  double steps = 0;
  double sent = 0;
  double reduced = 0;
};

// ReduceScatter and AllGather in `steps` steps at the least volume, and what is made of them.
std::optional<Terms> halves(StageOp op, double steps, double p, double n) {
  const double volume = (p - 1) / p * n;
  switch (op) {
    case StageOp::kReduceScatter:
      return Terms{steps, volume, volume};
    case StageOp::kAllGather:
    case StageOp::kScatter:
      return Terms{steps, volume, 0};
    case StageOp::kAllReduce:
      return Terms{2 * steps, 2 * volume, volume};
    default:
      return std::nullopt;
  }
}

std::optional<Terms> trees(StageOp op, double steps, double n) {
  switch (op) {
    case StageOp::kBroadcast:
      return Terms{steps, steps * n, 0};
    case StageOp::kReduce:
      return Terms{steps, steps * n, steps * n};
    case StageOp::kAllReduce:
      return Terms{2 * steps, 2 * steps * n, steps * n};
    default:
      return std::nullopt;
  }
}

std::optional<Terms> halvingDoubling(StageOp op, uint32_t ranks, double n) {
  const double steps = std::bit_width(ranks) - 1;
  if (std::has_single_bit(ranks)) {
    if (op == StageOp::kBroadcast) return Terms{steps, steps * n, 0};
    return op == StageOp::kScatter ? std::nullopt : halves(op, steps, ranks, n);
  }
  if (op != StageOp::kAllReduce) return std::nullopt;
  const double part = 1 - 1 / static_cast<double>(std::bit_floor(ranks));
  return Terms{2 * steps + 2, (2 * part + 2) * n, (part + 1) * n};
}

std::optional<Terms> terms(const std::string& token, StageOp op, bool oneShot, uint32_t ranks,
                           double n) {
  const double p = ranks;
  if (token == "ring" && !oneShot) return halves(op, p - 1, p, n);
  if (token == "NHR" || token == "NB") {
    const double steps = plan::ceilLog2(ranks);
    return oneShot ? trees(op, steps, n) : halves(op, steps, p, n);
  }
  if (token == "H-D_R" && !oneShot) return halvingDoubling(op, ranks, n);
  return std::nullopt;
}

}  // namespace

std::optional<double> closedForm(const std::string& token, StageOp op, bool oneShot, uint32_t ranks,
                                 double bytes, const LevelCost& link, double gamma) {
  const auto t = terms(token, op, oneShot, ranks, bytes);
  if (!t) return std::nullopt;
  return t->steps * link.alpha + t->sent * link.beta + t->reduced * gamma;
}

}  // namespace hccl::verify
