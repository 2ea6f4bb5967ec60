// StageAlgorithm: one algorithm on one group of ranks, a pure function of (stage, round, rank).
// Every file in algorithms/ implements one and registers it by a row of the registry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/plan/moves.h"

namespace hccl::plan {

enum class StageOp : uint8_t {
  kReduceScatter,  // member i ends with block i reduced in kOutput; partial results in kScratch
  kAllGather,      // block i comes from member i's kInput; all end in everyone's kOutput
  kAllReduce,      // partial results in kOutput
  kBroadcast,      // from the root's kInput to everyone else's kOutput
  kScatter,        // block i from the root's kInput to member i's kOutput; in transit in kScratch
  kGather,         // block i from member i's kInput to the root's kOutput
  kReduce,         // all blocks to the root's kOutput; partial results in kScratch
  kAllToAll,       // block j of member i's kInput to block i of member j's kOutput
};

struct StageArgs {
  StageOp op = StageOp::kAllReduce;
  uint32_t size = 1;     // members; ranks in moves are member indices
  uint32_t root = 0;     // member index
  bool oneShot = false;  // the variant for small data, which keeps the data in one block
  // For algorithms that span two levels: the members of each group of the lower level, every member
  // once. nullptr: each member is a group of its own.
  const std::vector<std::vector<uint32_t>>* groups = nullptr;
};

// Time of a stage on n bytes: steps * alpha + volume * n * beta + reduced * n * gamma, where every
// member has one port (a full mesh with a link to each peer needs less).
struct Cost {
  double steps = 0;
  double volume = 0;
  double reduced = 0;
};

class StageAlgorithm {
 public:
  virtual ~StageAlgorithm() = default;
  virtual bool supports(StageOp op) const = 0;
  // False where the operation is supported, but not with this number of members.
  virtual bool supportsSize(StageOp, uint32_t) const { return true; }
  virtual bool supportsOneShot(StageOp) const { return false; }
  // Runs a level and the one below as one stage, out of StageArgs::groups.
  virtual bool spansLevels() const { return false; }
  // Whether it can work on these groups (algorithms that span levels).
  virtual bool supportsGroups(const std::vector<std::vector<uint32_t>>&) const { return true; }
  // Blocks of other pairs pass through a member: an AlltoAll needs blocks of one length then.
  virtual bool relays() const { return false; }
  // Messages of a round begin when those of the round before have ended, which bounds the number of
  // peers that a member works with at once.
  virtual bool paced() const { return false; }
  // The inputs of each element meet unreduced and in the order of members, as
  // HCCL_DETERMINISTIC=strict wants it.
  virtual bool keepsOrder(StageOp) const { return false; }
  // The closed form; by default what the moves add up to.
  virtual Cost cost(const StageArgs& args) const;
  virtual uint32_t rounds(const StageArgs& args) const = 0;
  // Blocks into which the stage's data is cut.
  virtual uint32_t blocks(const StageArgs& args) const { return args.oneShot ? 1 : args.size; }
  // Appends the moves that `owner` makes in `round`. For each ordered pair of members there is
  // at most one move per round in which one reads from or writes to the other.
  virtual void moves(const StageArgs& args, uint32_t round, uint32_t owner,
                     std::vector<Move>& out) const = 0;
};

// A row of the registry.
struct AlgorithmRow {
  uint8_t id;           // part of the signature
  const char* token;    // as in HCCL_ALGO
  const char* logName;  // as in AlgType(level 0-1-2)
  const char* description;
  const StageAlgorithm* algorithm;
};

// All rows, in the order of registration in algorithms/registry.cc.
const std::vector<AlgorithmRow>& algorithmRows();
// nullptr when there is no such token.
const AlgorithmRow* findAlgorithm(const std::string& token);

// What an algorithm's moves add up to: in each round the busiest member counts.
Cost costOfMoves(const StageAlgorithm& algorithm, const StageArgs& args);

inline uint32_t ceilLog2(uint32_t n) {
  uint32_t k = 0;
  while ((uint64_t{1} << k) < n) ++k;
  return k;
}

}  // namespace hccl::plan
