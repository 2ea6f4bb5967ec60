// Words that the command lines of the tools share: sizes, operations, lists.
#pragma once

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "src/plan/op.h"

namespace hccl::tools {

// "8M" -> 8388608; suffixes K, M, G.
inline std::optional<uint64_t> parseSize(const std::string& text) {
  size_t end = 0;
  uint64_t value = 0;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9' && end < 15) {
    value = value * 10 + static_cast<uint64_t>(text[end++] - '0');
  }
  if (end == 0 || text.size() - end > 1) return std::nullopt;
  if (end == text.size()) return value;
  switch (text[end]) {
    case 'K':
      return value << 10;
    case 'M':
      return value << 20;
    case 'G':
      return value << 30;
    default:
      return std::nullopt;
  }
}

inline std::string sizeText(uint64_t bytes) {
  for (const auto& [shift, letter] : {std::pair(30, "G"), {20, "M"}, {10, "K"}}) {
    if (bytes != 0 && bytes % (1ULL << shift) == 0) return std::to_string(bytes >> shift) + letter;
  }
  return std::to_string(bytes);
}

inline std::vector<std::string> parts(const std::string& list) {
  std::vector<std::string> all;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) all.push_back(part);
  return all;
}

// By HCCL's names: AllReduce, AlltoAll, ...
inline std::optional<HcclCMDType> parseOp(const std::string& name) {
  for (HcclCMDType type :
       {HCCL_CMD_ALLREDUCE, HCCL_CMD_REDUCE, HCCL_CMD_BROADCAST, HCCL_CMD_REDUCE_SCATTER,
        HCCL_CMD_ALLGATHER, HCCL_CMD_SCATTER, HCCL_CMD_ALLTOALL}) {
    if (name == plan::opName(type)) return type;
  }
  return std::nullopt;
}

}  // namespace hccl::tools
