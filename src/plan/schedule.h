// Schedule: the stages that an operation goes through on a topology (one for a flat algorithm;
// intra-server and inter-server stages for a hierarchy), still in moves, before any link class is
// known.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/plan/algorithm.h"
#include "src/plan/op.h"
#include "src/plan/topology.h"

namespace hccl::plan {

// What an operation is when one group does it; AllReduce for those that are none of the others.
StageOp stageOpOf(HcclCMDType type);

struct Group {
  std::vector<uint32_t> ranks;                // by member index
  uint32_t root = 0;                          // member index
  std::vector<std::vector<uint32_t>> blocks;  // stage block -> blocks of the operation
  // Members by group of the level below, for algorithms that span levels; else empty.
  std::vector<std::vector<uint32_t>> subgroups;
};

struct Stage {
  const AlgorithmRow* row = nullptr;
  StageOp op = StageOp::kAllReduce;
  bool oneShot = false;
  std::array<Buffer, 3> buffers = {Buffer::kInput, Buffer::kOutput, Buffer::kScratch};
  std::vector<Group> groups;
  std::vector<int32_t> groupOf;    // by rank; -1 takes no part
  std::vector<uint32_t> memberOf;  // by rank

  uint32_t rounds() const;
};

StageArgs argsOf(const Stage& stage, const Group& group);

// Appends a move in the language of a stage, put into that of what the stage is part of: members
// become group.ranks, blocks group.blocks, buffers `buffers`. Copies of a place onto itself are
// dropped.
void translate(const std::array<Buffer, 3>& buffers, const Group& group, const Move& move,
               std::vector<Move>& out);

struct Schedule {
  std::string name;     // level names, as in AlgType(level 0-1-2)
  uint8_t id = 0;       // for the signature
  bool relays = false;  // AlltoAll: blocks of other pairs pass through a rank
  bool paced = false;   // see StageAlgorithm::paced()
  uint32_t blocks = 1;  // blocks of the operation
  uint32_t rankCount = 1;
  std::vector<Stage> stages;

  uint32_t rounds() const;
  // Appends what `owner` does in `round`, in ranks and in the operation's blocks and buffers.
  void moves(uint32_t round, uint32_t owner, std::vector<Move>& out) const;
  // Ranks whose moves can touch `rank` in `round`.
  const std::vector<uint32_t>& group(uint32_t round, uint32_t rank) const;
};

// Which algorithm runs on which level. level0 only: everything in one flat group.
struct Choice {
  const AlgorithmRow* level0 = nullptr;  // inside servers, or on all ranks when flat
  const AlgorithmRow* level1 = nullptr;  // between servers; nullptr when flat
  bool oneShot0 = false;                 // flat only
  bool oneShot1 = false;
  std::string note;                      // why a configured algorithm was not taken, for the log
  const AlgorithmRow* level2 = nullptr;  // between super-pods
  bool oneShot2 = false;
  uint64_t chunkBytes = 0;  // of an iteration of the chunk grid; 0: the library's own
  std::string why;          // for the log and for hccl_info

  // Distinguishes plans, all of one operation and topology.
  uint32_t key() const;
  // Tokens of the levels that exist: "fullmesh-ring (one-shot)".
  std::string text() const;
  bool oneShot() const { return oneShot0 || oneShot1 || oneShot2; }
};

// The choice must be legal for the operation (see selector.h).
Schedule compose(const OpDesc& op, const Topology& topology, const Choice& choice);

}  // namespace hccl::plan
