// The table that the suite prints.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/fault/run.h"

namespace hccl::faults {

class Verdict {
 public:
  void add(const Injection& injection, const Outcome& outcome);
  // fault, stage, transport, injections, time to error (median, max), who named the culprit.
  std::string table() const;
  size_t failures() const { return failures_; }

 private:
  struct Row {
    uint32_t injections = 0;
    uint32_t failed = 0;
    uint32_t survivors = 0;
    uint32_t named = 0;
    bool unharmed = false;
    std::vector<double> seconds;
  };
  std::map<std::string, Row> rows_;
  size_t failures_ = 0;
};

}  // namespace hccl::faults
