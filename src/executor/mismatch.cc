#include "src/executor/mismatch.h"

#include <fmt/format.h>

#include "src/fault/ei_errors.h"

namespace hccl::executor {

const char* dataTypeName(uint8_t type) {
  static const char* const names[] = {"int8",    "int16",    "int32",  "float16", "float32",
                                      "int64",   "uint64",   "uint8",  "uint16",  "uint32",
                                      "float64", "bfloat16", "int128", "unknown", "hif8",
                                      "fp8e4m3", "fp8e5m2",  "fp8e8m0"};
  return type < sizeof(names) / sizeof(names[0]) ? names[type] : "unknown";
}

const char* reduceOpName(uint8_t op) {
  static const char* const names[] = {"sum", "prod", "max", "min"};
  return op < 4 ? names[op] : "none";
}

Status mismatchError(const char* communicator, uint32_t localRank, uint32_t remoteRank,
                     const Contact& local, const Contact& remote, int culprit) {
  const plan::Signature mine = plan::Signature::unpack(local.signature);
  const plan::Signature theirs = plan::Signature::unpack(remote.signature);
  std::string parameter;
  std::string localValue;
  std::string remoteValue;
  const auto differs = [&](const char* name, const auto& a, const auto& b) {
    if (!parameter.empty() || a == b) return;
    parameter = name;
    localValue = fmt::format("{}", a);
    remoteValue = fmt::format("{}", b);
  };
  const auto opText = [](uint8_t type) {
    return std::string(plan::opName(static_cast<HcclCMDType>(type)));
  };
  differs("cmdType", opText(mine.type), opText(theirs.type));
  differs("dataType", std::string(dataTypeName(mine.dataType)),
          std::string(dataTypeName(theirs.dataType)));
  differs("op", std::string(reduceOpName(mine.reduceOp)),
          std::string(reduceOpName(theirs.reduceOp)));
  differs("root", mine.root, theirs.root);
  // Operations with varying blocks carry a digest of all counts.
  if (plan::hasVaryingBlocks(static_cast<HcclCMDType>(mine.type))) {
    differs("counts (digest of the array)", fmt::format("{:#x}", local.count),
            fmt::format("{:#x}", remote.count));
  }
  differs("count", local.count, remote.count);
  differs("sequence", local.sequence, remote.sequence);
  differs("algorithm", int{mine.algorithm}, int{theirs.algorithm});
  differs("inCclBufferSize", mine.geometry, theirs.geometry);
  if (parameter.empty()) parameter = "step";
  const std::string localText = fmt::format("{} (rank {})", localValue, localRank);
  const std::string remoteText = fmt::format("{} (rank {})", remoteValue, remoteRank);
  return eiError(Ei::kInconsistent, HCCL_E_PARA,
                 {opText(mine.type), communicator, parameter, localText, remoteText},
                 culprit == kNoRank ? static_cast<int>(remoteRank) : culprit);
}

}  // namespace hccl::executor
