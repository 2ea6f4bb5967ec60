// The textbook times of algorithms, where they apply: equal ranks, no shared links, all data at
// once. Written down from the literature and HCCL's notes, not out of the plans.
#pragma once

#include <optional>
#include <string>

#include "src/plan/algorithm.h"
#include "src/verify/network.h"

namespace hccl::verify {

// `bytes`: of the whole vector. Nothing where there is no known form.
std::optional<double> closedForm(const std::string& token, plan::StageOp op, bool oneShot,
                                 uint32_t ranks, double bytes, const LevelCost& link, double gamma);

}  // namespace hccl::verify
