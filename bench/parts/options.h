// The command line of every benchmark: HCCL's own options, and additions that are off by default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hccl/hccl_types.h"

namespace hccl::bench {

enum class CheckMode { Off = 0, On = 1, Verbose = 2 };
enum class MemoryKind { Device, Malloc };

struct Options {
  uint64_t minBytes = 64ULL << 20;
  uint64_t maxBytes = 64ULL << 20;
  uint64_t stepBytes = 0;
  bool stepGiven = false;  // -i was named: 0 then means "repeat minBytes for ever"
  uint64_t stepFactor = 0;
  uint32_t iterations = 20;
  uint32_t warmUps = 10;
  HcclReduceOp op = HCCL_REDUCE_SUM;
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  uint32_t root = 0;
  CheckMode check = CheckMode::On;
  uint32_t devicesPerNode = 0;  // 0: as many as the runtime offers
  bool onlyDeviceTime = false;

  bool busBandwidth = false;
  bool synchronous = false;
  MemoryKind memory = MemoryKind::Device;
  bool inPlace = false;
  uint64_t offset = 0;
  std::string json;

  bool repeatsForEver() const;
};

struct Parsed {
  Options options;
  bool proceed = true;  // false: print `text`, end with `exitCode`
  int exitCode = 0;
  std::string text;
};

// Reads a command line; `program` and `purpose` head the help text.
Parsed parseOptions(int argc, const char* const* argv, const std::string& program,
                    const std::string& purpose);

// Reads "8", "64K", "1.5M" or "2G" (powers of 1024, either case, an optional B). Throws BenchError.
uint64_t parseBytes(const std::string& text);

// Walks through the sizes that the options ask for.
class SizeSequence {
 public:
  explicit SizeSequence(const Options& options) : options_(options), next_(options.minBytes) {}
  // Writes the next size; false when there is none.
  bool next(uint64_t* bytes);

 private:
  Options options_;
  uint64_t next_;
  bool done_ = false;
};

}  // namespace hccl::bench
