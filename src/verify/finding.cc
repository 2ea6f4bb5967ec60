#include "src/verify/finding.h"

#include <fmt/format.h>

namespace hccl::verify {

const char* faultName(Fault fault) {
  static const char* const names[] = {"malformed step", "deadlock",         "unmatched",
                                      "race",           "unguarded access", "unwritten data read",
                                      "wrong value",    "wrong place"};
  return names[static_cast<size_t>(fault)];
}

std::string Finding::text(const plan::Plan& plan) const {
  std::string place = fmt::format("rank {}", rank);
  if (operation > 0) place += fmt::format(" operation {}", operation);
  if (step >= 0 && static_cast<size_t>(step) < plan.steps.size()) {
    const plan::Step& s = plan.steps[static_cast<size_t>(step)];
    place += fmt::format(" step {} ({}, lane {}, round {}, iteration {})", step,
                         plan::stepName(s.kind), s.lane, s.round, iteration);
  } else {
    place += " at the end";
  }
  if (!where.empty()) place += ", " + where;
  return fmt::format("{}: {}: expected {}, found {}", faultName(fault), place, expected, found);
}

}  // namespace hccl::verify
