// Pictures of simulations, as SVG.
#pragma once

#include <string>
#include <vector>

#include "src/verify/sim.h"

namespace hccl::verify {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // bytes, seconds
};

// Time against size, both logarithmic, a line a curve.
std::string timeChart(const std::string& title, const std::vector<Curve>& curves);
// What each rank does when, a row a rank.
std::string timelineChart(const std::string& title, uint32_t ranks, const std::vector<Span>& spans);

}  // namespace hccl::verify
