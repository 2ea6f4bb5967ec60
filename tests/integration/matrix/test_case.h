// One case of the matrix: a value for each factor. Cases are written and read as text, for the
// command line that repeats one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "hccl/hccl.h"
#include "tests/integration/support/job.h"

namespace hccl::multirank {

enum class Collective : uint8_t {
  kAllReduce,
  kReduce,
  kReduceScatter,
  kReduceScatterV,
  kAllGather,
  kAllGatherV,
  kBroadcast,
  kScatter,
  kAllToAll,
  kAllToAllV,
  kAllToAllVC,
  kSendRecv,
  kBatchSendRecv,
  kBarrier,
};
inline constexpr uint8_t kCollectives = 14;

enum Factor : uint8_t {
  kCollective,
  kType,       // index into movableTypes()
  kOp,         // HcclReduceOp
  kPlace,      // Place
  kCount,      // index into the table of counts
  kRoot,       // first, middle, last rank
  kRanks,      // ranks - 1
  kLaunch,     // Launch
  kTransport,  // shm, tcp
  kAlgorithm,  // index into the table of algorithms
  kMemory,     // device, malloc, device and malloc
  kOffset,     // 0, one element, 3 bytes
  kFactors,
};

// Where the output lies. Which of them a collective allows: legal().
enum Place : uint8_t {
  kSeparate,
  kOwnPart,  // the own part of the other buffer; the same buffer where both are equally large
  kStart,    // both buffers begin at one address though one is larger
};

struct TestCase {
  std::array<uint8_t, kFactors> factor = {};

  static const std::array<uint8_t, kFactors>& levels();  // how many values each factor has
  // A case is legal when the library must accept it and no factor says something without meaning.
  bool legal() const;

  Collective collective() const { return static_cast<Collective>(factor[kCollective]); }
  HcclDataType type() const;
  HcclReduceOp op() const { return static_cast<HcclReduceOp>(factor[kOp]); }
  Place place() const { return static_cast<Place>(factor[kPlace]); }
  uint32_t ranks() const { return factor[kRanks] + 1U; }
  uint32_t root() const;
  Launch launch() const { return static_cast<Launch>(factor[kLaunch]); }
  const char* transport() const { return factor[kTransport] == 0 ? "shm" : "tcp"; }
  // Elements: of the vector, or of one block.
  uint64_t count() const;
  bool reduces() const;
  bool hasBlocks() const;    // a block per rank
  const char* algo() const;  // for HcclCommConfig::hcclAlgo; may be empty
  bool strict() const;       // HcclCommConfig::hcclDeterministic is 2
  size_t misalignment() const;

  // "AllReduce type=fp16 op=sum ..."
  std::string text() const;
  static std::optional<TestCase> parse(const std::string& text);

  bool operator==(const TestCase&) const = default;
};

}  // namespace hccl::multirank
