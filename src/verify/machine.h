// Machine: runs the plans of all ranks on symbolic contents, operation after operation, in one
// interleaving (the race check shows that all others give the same). A message is handed over only
// when its receiver takes it, which is the least credit that any link gives: what ends here ends
// on every link.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "src/verify/finding.h"
#include "src/verify/step_reader.h"
#include "src/verify/values.h"

namespace hccl::verify {

class Machine {
 public:
  // The worlds have the same ranks and links; they and the maps outlive the machine.
  struct Operation {
    const World* world = nullptr;
    const MemoryMap* map = nullptr;
  };
  explicit Machine(std::vector<Operation> operations);

  // What is wrong, or nothing.
  std::optional<Finding> run();

 private:
  struct Lane {
    uint64_t iteration = 0;
    uint32_t position = 0;
    uint32_t piece = 0;
    bool offered = false;    // a Put's frame waits for its Take
    bool pieceSent = false;  // a frame of this step went through
  };
  struct Rank {
    size_t operation = 0;
    bool begun = false;
    bool queued = false;
    std::vector<Lane> lanes;
    std::vector<uint32_t> positionOf;
    Contents spaces[kSpaces];
  };
  // From one rank to another.
  struct Pair {
    uint32_t opens = 0;  // sent and not yet awaited
    uint32_t closes = 0;
    bool full = false;  // a frame is on offer
    size_t operation = 0;
    uint64_t length = 0;
    std::vector<Piece> frame;
  };
  enum class Outcome { kDone, kBlocked, kFailed };

  Pair& pair(uint32_t from, uint32_t to) { return pairs_[size_t{from} * ranks_ + to]; }
  const World& world(uint32_t r) const { return *operations_[rank_[r].operation].world; }
  const MemoryMap& map(uint32_t r) const { return *operations_[rank_[r].operation].map; }
  StepReader reader(uint32_t r) const { return {world(r), map(r)}; }
  void wake(uint32_t r);
  void begin(uint32_t r);
  bool advance(uint32_t r);
  bool runLane(uint32_t r, Lane& lane, const std::vector<uint32_t>& steps, bool& moved);
  bool mayStart(const Rank& rank, const Lane& lane) const;
  bool depsMet(uint32_t r, const plan::Step& step, uint64_t iteration) const;
  Outcome runStep(uint32_t r, uint32_t index, Lane& lane);
  Outcome stage(uint32_t r, uint32_t index, uint64_t c);
  Outcome combine(uint32_t r, uint32_t index, uint64_t c);
  Outcome combineSegment(uint32_t r, uint32_t index, const plan::Segment& segment, uint64_t c);
  Outcome signal(uint32_t r, const plan::Step& step, uint64_t c);
  Outcome put(uint32_t r, uint32_t index, Lane& lane);
  Outcome take(uint32_t r, uint32_t index, Lane& lane);
  bool nextPiece(uint32_t r, const plan::Step& step, Lane& lane) const;

  bool load(uint32_t r, uint32_t index, uint64_t c, const Place& place, std::vector<Piece>& out);
  bool store(uint32_t r, uint32_t index, uint64_t c, const Place& place,
             const std::vector<Piece>& pieces);
  Outcome fail(Fault fault, uint32_t r, int64_t step, uint64_t c, std::string where,
               std::string expected, std::string found);
  void checkResult(uint32_t r);
  void checkBlock(uint32_t r, const Place& place, uint32_t expected, uint64_t element);
  void checkEqualBits(uint32_t r, const Place& place, const std::vector<Piece>& pieces);
  void reportBlocked();
  void checkLeftovers();
  // Logical element of a block's first element: of rank `from`'s input for rank `to`.
  uint64_t logical(uint32_t r, uint32_t from, uint32_t to) const;

  std::vector<Operation> operations_;
  uint32_t ranks_;
  Expressions expressions_;
  std::vector<Rank> rank_;
  std::vector<Pair> pairs_;
  std::deque<uint32_t> ready_;
  std::optional<Finding> finding_;
  std::vector<Contents> firstResult_;  // by operation: AllReduce's, by logical element
  std::vector<std::vector<Piece>> loaded_;
  std::vector<Piece> result_;
};

}  // namespace hccl::verify
