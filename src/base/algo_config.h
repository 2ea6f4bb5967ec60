// HCCL_ALGO: which algorithm each operation uses at each level.
#pragma once

#include <array>
#include <cstdint>
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

// How the algorithm works: beyond HCCL, "oneshot:yes|no" and "chunk:BYTES" beside the levels.
struct AlgoShape {
  std::optional<bool> oneShot;  // unset: by the size of the data
  uint64_t chunkBytes = 0;      // of an iteration of the chunk grid; 0: the library's own
  bool operator==(const AlgoShape&) const = default;
};

struct AlgoConfig {
  std::string text;  // without spaces; empty when not configured
  std::array<AlgoLevels, kAlgoOpCount> perOp{};
  std::array<AlgoShape, kAlgoOpCount> shapes{};
  bool flat = false;  // level0:null

  const AlgoLevels& levels(AlgoOp op) const { return perOp[static_cast<size_t>(op)]; }
  AlgoToken level(AlgoOp op, size_t index) const { return levels(op)[index]; }
  const AlgoShape& shape(AlgoOp op) const { return shapes[static_cast<size_t>(op)]; }
  bool isSet() const { return !text.empty(); }
  // Whether it says anything about the operation.
  bool concerns(AlgoOp op) const {
    return flat || levels(op) != AlgoLevels{} || shape(op) != AlgoShape{};
  }
};

// Tokens of HCCL_ALGO for algorithms and operations; nullopt when there is no such token.
std::optional<AlgoToken> findAlgoToken(std::string_view text);
std::optional<AlgoOp> findAlgoOp(std::string_view text);
// Bytes with an optional K, M or G behind: "512K".
std::optional<uint64_t> parseByteCount(std::string_view text);
// Chunks that the library accepts.
inline constexpr uint64_t kLeastChunkBytes = 4ULL << 10;
inline constexpr uint64_t kMostChunkBytes = 1ULL << 30;

// Parses HCCL_ALGO or HcclCommConfig::hcclAlgo. nullopt when the grammar is broken. `warnings`,
// when given, receives a line for each part that is accepted but has no effect.
std::optional<AlgoConfig> parseAlgoConfig(std::string_view text,
                                          std::vector<std::string>* warnings = nullptr);
// "config level0:NA, level1:ring, level2:, level3:" as in the log line of an operation.
std::string algoLevelsText(const AlgoLevels& levels);

}  // namespace hccl
