// Names, sizes and kinds of the data types and reductions that the command line knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hccl/hccl_types.h"

namespace hccl::bench {

enum class Kind {
  Signed,
  Unsigned,
  Floating,
  Opaque  // moved, never reduced
};

struct TypeInfo {
  const char* name;
  HcclDataType type;
  size_t bytes;
  Kind kind;
  // Integers up to this magnitude have an exact representation. Floating types only.
  double exactIntegers;
};

const std::vector<TypeInfo>& types();
const TypeInfo& typeInfo(HcclDataType type);

// Pairs of name and value, as the parser of options wants them.
std::vector<std::pair<std::string, HcclDataType>> typeNames();
std::vector<std::pair<std::string, HcclReduceOp>> reductionNames();
const char* reductionName(HcclReduceOp op);

}  // namespace hccl::bench
