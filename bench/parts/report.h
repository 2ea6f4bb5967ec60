// The table on standard output, in the format that HCCL users parse, and the JSON file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/parts/operation.h"
#include "bench/parts/options.h"
#include "bench/parts/timing.h"

namespace hccl::bench {

struct Row {
  uint64_t bytes = 0;
  Timing timing;
  std::optional<bool> good;  // nothing: not checked
};

class Report {
 public:
  Report(const Options& options, const Operation& operation, uint32_t ranks)
      : options_(options), operation_(operation), ranks_(ranks) {}

  std::string head() const;
  std::string line(const Row& row) const;
  void add(const Row& row) { rows_.push_back(row); }
  // Writes the file of --json, if there is one. Throws BenchError.
  void save() const;

 private:
  double busBandwidth(const Row& row) const;

  const Options& options_;
  const Operation& operation_;
  uint32_t ranks_;
  std::vector<Row> rows_;
};

// GB/s, 10^9 bytes.
double algorithmBandwidth(const Row& row);

}  // namespace hccl::bench
