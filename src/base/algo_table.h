// AlgoTable: measured choices (HCCL_ALGO_TABLE), as hccl_tune writes them. Data only: whether a row
// is legal for an operation is the selector's to say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/algo_config.h"
#include "src/base/status.h"

namespace hccl {

struct AlgoTableRow {
  AlgoOp op = AlgoOp::kAllReduce;
  uint32_t ranks = 0;
  uint32_t servers = 1;
  std::string links;      // slowest class among the ranks: shared, rdma, tcp
  uint64_t maxBytes = 0;  // the row counts up to this size of the whole operation
  // Either one algorithm for all ranks as one level, or algorithms between servers and super-pods.
  AlgoToken flat = AlgoToken::kUnset;
  AlgoToken level1 = AlgoToken::kUnset;
  AlgoToken level2 = AlgoToken::kUnset;
  AlgoShape shape;
  size_t number = 0;  // in the file, from 1

  std::string text() const;  // all that counts, in one line
};

class AlgoTable {
 public:
  // Errors: HCCL_E_PARA with EI0001, which names the file, the row and field (or the byte at which
  // it is no JSON) and what was expected.
  static Result<std::shared_ptr<const AlgoTable>> load(const std::string& path);
  static Result<std::shared_ptr<const AlgoTable>> parse(std::string_view content,
                                                        const std::string& path);

  // The row with the least maxBytes that is not below `bytes`; nullptr when there is none.
  const AlgoTableRow* find(AlgoOp op, uint32_t ranks, uint32_t servers, std::string_view links,
                           uint64_t bytes) const;
  const std::vector<AlgoTableRow>& rows() const { return rows_; }
  const std::string& path() const { return path_; }
  // Of what the rows say: equal for tables that choose alike.
  const std::string& hash() const { return hash_; }

 private:
  std::string path_;
  std::string hash_;
  std::vector<AlgoTableRow> rows_;  // by everything but maxBytes, then by maxBytes
};

}  // namespace hccl
