// What came out: the table for HCCL_ALGO_TABLE, and the comparison of the library's own choice with
// the best that was measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/tune/contender.h"
#include "tools/tune/measure.h"

namespace hccl::tune {

struct Setting {
  Operation op;
  uint32_t ranks = 0;
  uint32_t servers = 1;
  std::string links;  // shared, rdma, tcp
};

// The fastest contender that took turns; the library's own choice counts only when it is alone.
size_t bestOf(const std::vector<Contender>& contenders, const std::vector<Times>& times);

// ---- the table ----

struct Tuned {
  uint64_t bytes = 0;  // that were measured
  Contender winner;
  Median seconds;
};
// Rows for one setting: each measured size stands for its neighbourhood, the last one for all
// above.
nlohmann::json tableRows(const Setting& setting, const std::vector<Tuned>& tuned);
nlohmann::json tableOf(const nlohmann::json& rows);

// ---- the comparison ----

struct Cell {
  Setting setting;
  uint64_t bytes = 0;
  std::string own;  // what the library chose
  std::string best;
  Median ownSeconds;
  Median bestSeconds;
  Median ratio;  // own / best, turn by turn
  // The interval of the ratio excludes 10 % more.
  bool isLost() const { return ratio.low > 1.1; }
  // The median itself is within 10 %.
  bool isNear() const { return ratio.value <= 1.1; }
};
void printHead();
void print(const Cell& cell);
nlohmann::json toJson(const Cell& cell);
Cell cellOf(const nlohmann::json& json);
// "kept n of m cells (x %)".
std::string summary(const std::vector<Cell>& cells);

}  // namespace hccl::tune
