// What one benchmark program says about its operation; the runner does all the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/parts/launch.h"
#include "hccl/hccl.h"

namespace hccl::bench {

// One call, as one rank sees it.
struct Job {
  uint32_t rank = 0;
  uint32_t ranks = 1;
  uint32_t root = 0;
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  HcclReduceOp op = HCCL_REDUCE_SUM;
  uint64_t count = 0;  // elements of the whole vector
  HcclComm comm = nullptr;
  aclrtStream stream = nullptr;

  uint64_t part() const { return count / ranks; }  // of operations that divide the vector
  uint32_t next() const { return (rank + 1) % ranks; }
  uint32_t previous() const { return (rank + ranks - 1) % ranks; }
};

// Elements of a rank's buffers.
struct Extent {
  uint64_t send = 0;
  uint64_t receive = 0;
};

struct Buffers {
  void* send = nullptr;
  void* receive = nullptr;
};

inline constexpr uint32_t kReduced = 0xffffffffU;

// `count` elements at `offset` of a buffer, equal to positions phase, phase + 1, ... of the input
// of rank `source`, or of the reduction of all inputs.
struct Segment {
  uint64_t offset = 0;
  uint64_t count = 0;
  uint32_t source = 0;
  uint64_t phase = 0;
};

class Operation {
 public:
  virtual ~Operation() = default;

  virtual const char* program() const = 0;  // "all_reduce_test"
  virtual const char* purpose() const = 0;  // a line for the help text
  virtual bool reduces() const { return false; }
  // The whole vector consists of one equal part for each rank (or one on average).
  virtual bool divides() const { return false; }
  virtual bool movesData() const { return true; }  // false: one row without a size
  virtual uint32_t leastRanks() const { return 1; }
  // Bus bandwidth divided by algorithm bandwidth.
  virtual double busFactor(double ranks) const = 0;

  virtual Extent extent(const Job& job) const = 0;
  // Where the two buffers begin, in elements, when they share memory; nothing if they cannot.
  virtual std::optional<Extent> inPlace(const Job&) const { return std::nullopt; }
  virtual bool alwaysInPlace() const { return false; }
  // What the send buffer holds before the call. The whole of it is the rank's own input unless an
  // operation says otherwise.
  virtual std::vector<Segment> input(const Job& job) const;
  // What the receive buffer holds after the call. Parts that are not named are not checked.
  virtual std::vector<Segment> expected(const Job& job) const = 0;

  // Called for each size before its calls: the place to make arrays that calls pass.
  virtual void arrange(const Job&) {}
  // Enqueues one call.
  virtual HcclResult call(const Job& job, const Buffers& buffers) const = 0;
  // For operations whose effect is no data: calls once and tells whether the effect was there.
  virtual bool checkEffect(const Job&, const Launch&) const { return true; }
};

// (ranks - 1) / ranks
double shareOfOthers(double ranks);

// How operations with counts for each rank cut a vector: parts differ by half of their average from
// neighbour to neighbour, and a part of the average is left over for an odd number of ranks.
uint64_t unevenPart(uint64_t average, uint32_t index, uint32_t parts);

// For each part: its count, and where it begins when parts lie one after the other.
struct Parts {
  std::vector<uint64_t> counts;
  std::vector<uint64_t> offsets;
  uint64_t total = 0;

  void add(uint64_t count);
};
Parts unevenParts(uint64_t average, uint32_t parts);
// What each rank sends to the others in an uneven all-to-all, and receives from them.
uint64_t exchanged(const Job& job, uint32_t from, uint32_t to);
Parts sentParts(const Job& job, uint32_t from);
Parts receivedParts(const Job& job, uint32_t to);
// What the receive buffer of an uneven all-to-all holds.
std::vector<Segment> exchangedSegments(const Job& job);

}  // namespace hccl::bench
