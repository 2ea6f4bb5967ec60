#include "tools/tune/statistics.h"

#include <algorithm>
#include <cmath>

namespace hccl::tune {
namespace {

// How many of the smallest (and of the largest) values may be left out: the chance that the median
// is among them is at most 2.5 % on each side.
size_t leftOut(size_t n) {
  double chance = std::pow(0.5, static_cast<double>(n));
  double sum = chance;
  size_t k = 0;
  while (sum <= 0.025 && k < n / 2) {
    ++k;
    chance *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    sum += chance;
  }
  return k;
}

}  // namespace

Median medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  const size_t skip = leftOut(n);
  Median m;
  m.value = (values[(n - 1) / 2] + values[n / 2]) / 2;
  // The interval runs between the last values that count.
  const size_t edge = skip == 0 ? 0 : skip - 1;
  m.low = values[edge];
  m.high = values[n - 1 - edge];
  return m;
}

Median medianRatio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return medianOf(std::move(ratios));
}

}  // namespace hccl::tune
