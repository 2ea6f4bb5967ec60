#include "tests/fault/verdict.h"

#include <algorithm>
#include <cstdio>

namespace hccl::faults {
namespace {

template <typename... Args>
std::string line(const char* form, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, form, args...);
  return text;
}

}  // namespace

void Verdict::add(const Injection& injection, const Outcome& outcome) {
  Row& row = rows_[line("%-10s %-10s %-9s", injection.fault.c_str(), injection.stage.c_str(),
                        injection.transport.c_str())];
  ++row.injections;
  row.unharmed = injection.survives;
  row.survivors += outcome.survivors;
  row.named += outcome.named;
  row.seconds.insert(row.seconds.end(), outcome.seconds.begin(), outcome.seconds.end());
  if (outcome.problems.empty()) return;
  ++row.failed;
  ++failures_;
}

std::string Verdict::table() const {
  std::string text = line("%-10s %-10s %-9s %4s %6s %10s %10s  %s\n", "fault", "stage", "transport",
                          "runs", "failed", "median s", "max s", "culprit named by");
  for (const auto& [key, row] : rows_) {
    text += key;
    if (row.unharmed) {
      text += line(" %4u %6u %10s %10s  job unharmed\n", row.injections, row.failed, "-", "-");
      continue;
    }
    std::vector<double> sorted = row.seconds;
    std::sort(sorted.begin(), sorted.end());
    const double median = sorted.empty() ? 0 : sorted[sorted.size() / 2];
    const double most = sorted.empty() ? 0 : sorted.back();
    text += line(" %4u %6u %10.3f %10.3f  %u of %u survivors\n", row.injections, row.failed, median,
                 most, row.named, row.survivors);
  }
  return text;
}

}  // namespace hccl::faults
