// Medians of turns and how sure they are.
#pragma once

#include <cstddef>
#include <vector>

namespace hccl::tune {

struct Median {
  double value = 0;
  // Order statistics that hold the true median with 95 % or more.
  double low = 0;
  double high = 0;
};

// At least one value. With fewer than six the interval is the whole range.
Median medianOf(std::vector<double> values);

// Of a[i] / b[i]: turns that were measured next to each other are compared.
Median medianRatio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace hccl::tune
