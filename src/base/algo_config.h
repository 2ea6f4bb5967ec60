// HCCL_ALGO: which algorithm each operation uses at each level.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hccl {

enum class AlgoToken {
  kUnset,  // the selector decides
  kNull,   // "null": the level does not exist (level0:null = one flat level)
  kNa,
  kRing,
  kPipeline,
  kFullMesh,
  kHalvingDoubling,  // "H-D_R"
  kPairwise,
  kNhr,
  kNhrV1,
  kAhc,
  kAhcBroke,
  kNb,
  // Beyond HCCL: what the library chooses by itself for some sizes.
  kStar,
  kDoubling,
  kDoubleTree,
  kBruck,
  kGroupedMesh,
};
std::string_view toString(AlgoToken token);

enum class AlgoOp {
  kAllGather,      // and AllGatherV
  kReduceScatter,  // and ReduceScatterV
  kAllReduce,
  kBroadcast,
  kReduce,
  kScatter,
  kAllToAll,  // and AlltoAllV, AlltoAllVC
  kSend,
  kReceive,
  kGather,
  kSendRecv,
  kCount,
};
inline constexpr size_t kAlgoOpCount = static_cast<size_t>(AlgoOp::kCount);
std::string_view toString(AlgoOp op);

using AlgoLevels = std::array<AlgoToken, 4>;

struct AlgoConfig {
  std::string text;  // without spaces; empty when not configured
  std::array<AlgoLevels, kAlgoOpCount> perOp{};
  bool flat = false;  // level0:null

  const AlgoLevels& levels(AlgoOp op) const { return perOp[static_cast<size_t>(op)]; }
  AlgoToken level(AlgoOp op, size_t index) const { return levels(op)[index]; }
  bool isSet() const { return !text.empty(); }
};

// Parses HCCL_ALGO or HcclCommConfig::hcclAlgo. nullopt when the grammar is broken. `warnings`,
// when given, receives a line for each part that is accepted but has no effect.
std::optional<AlgoConfig> parseAlgoConfig(std::string_view text,
                                          std::vector<std::string>* warnings = nullptr);
// "config level0:NA, level1:ring, level2:, level3:" as in the log line of an operation.
std::string algoLevelsText(const AlgoLevels& levels);

}  // namespace hccl
