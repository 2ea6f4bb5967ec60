#include "bench/parts/types.h"

#include "bench/parts/error.h"

namespace hccl::bench {

const std::vector<TypeInfo>& types() {
  static const std::vector<TypeInfo> table = {
      {"int8", HCCL_DATA_TYPE_INT8, 1, Kind::Signed, 0},
      {"int16", HCCL_DATA_TYPE_INT16, 2, Kind::Signed, 0},
      {"int32", HCCL_DATA_TYPE_INT32, 4, Kind::Signed, 0},
      {"int64", HCCL_DATA_TYPE_INT64, 8, Kind::Signed, 0},
      {"uint8", HCCL_DATA_TYPE_UINT8, 1, Kind::Unsigned, 0},
      {"uint16", HCCL_DATA_TYPE_UINT16, 2, Kind::Unsigned, 0},
      {"uint32", HCCL_DATA_TYPE_UINT32, 4, Kind::Unsigned, 0},
      {"uint64", HCCL_DATA_TYPE_UINT64, 8, Kind::Unsigned, 0},
      {"fp16", HCCL_DATA_TYPE_FP16, 2, Kind::Floating, 2048},
      {"fp32", HCCL_DATA_TYPE_FP32, 4, Kind::Floating, 16777216},
      {"fp64", HCCL_DATA_TYPE_FP64, 8, Kind::Floating, 9007199254740992},
      {"bfp16", HCCL_DATA_TYPE_BFP16, 2, Kind::Floating, 256},
      {"hif8", HCCL_DATA_TYPE_HIF8, 1, Kind::Opaque, 0},
      {"fp8e4m3", HCCL_DATA_TYPE_FP8E4M3, 1, Kind::Opaque, 0},
      {"fp8e5m2", HCCL_DATA_TYPE_FP8E5M2, 1, Kind::Opaque, 0},
      {"fp8e8m0", HCCL_DATA_TYPE_FP8E8M0, 1, Kind::Opaque, 0},
  };
  return table;
}

const TypeInfo& typeInfo(HcclDataType type) {
  for (const TypeInfo& info : types()) {
    if (info.type == type) return info;
  }
  throw BenchError("unknown data type " + std::to_string(static_cast<int>(type)));
}

std::vector<std::pair<std::string, HcclDataType>> typeNames() {
  std::vector<std::pair<std::string, HcclDataType>> names;
  for (const TypeInfo& info : types()) names.emplace_back(info.name, info.type);
  return names;
}

std::vector<std::pair<std::string, HcclReduceOp>> reductionNames() {
  return {{"sum", HCCL_REDUCE_SUM},
          {"prod", HCCL_REDUCE_PROD},
          {"min", HCCL_REDUCE_MIN},
          {"max", HCCL_REDUCE_MAX}};
}

const char* reductionName(HcclReduceOp op) {
  switch (op) {
    case HCCL_REDUCE_SUM:
      return "sum";
    case HCCL_REDUCE_PROD:
      return "prod";
    case HCCL_REDUCE_MIN:
      return "min";
    case HCCL_REDUCE_MAX:
      return "max";
    default:
      return "unknown";
  }
}

}  // namespace hccl::bench
