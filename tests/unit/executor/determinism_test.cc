// Bits of reductions on data that shows the order of additions. HCCL_DETERMINISTIC=strict: rank
// order for every element, whatever the count, the offset, the links and the ranks a server has.
// All algorithms, always: the same bits on every run and over every kind of link, and on all ranks.
#include <gtest/gtest.h>

#include <cstring>

#include "src/plan/selector.h"
#include "src/reduce/reduce.h"
#include "tests/unit/executor/experiment.h"

namespace hccl::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr HcclDataType kTypes[] = {HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_BFP16, HCCL_DATA_TYPE_FP32};

// Element i of a rank, which depends on nothing else. Ranks 0 and 1 cancel each other out; whoever
// adds small values to one of them before the other comes loses their last bits.
uint32_t roughBits(HcclDataType type, uint32_t rank, uint64_t i) {
  const bool large = rank < 2;
  uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ULL ^ (large ? 1 : rank + 1) * 0xc2b2ae3d27d4eb4fULL;
  h = (h ^ h >> 31) * 0xbf58476d1ce4e5b9ULL;
  h ^= h >> 29;
  const uint32_t sign = static_cast<uint32_t>(h >> 63) ^ (rank == 1 ? 1U : 0U);
  const auto spread = static_cast<uint32_t>(h >> 40) % 4;
  const auto mantissa = static_cast<uint32_t>(h);
  switch (type) {
    case HCCL_DATA_TYPE_FP16:
      return sign << 15 | ((large ? 26 : 1) + spread) << 10 | (mantissa & 0x3ff);
    case HCCL_DATA_TYPE_BFP16:
      return sign << 15 | ((large ? 140 : 117) + spread) << 7 | (mantissa & 0x7f);
    default:
      return sign << 31 | ((large ? 140 : 117) + spread) << 23 | (mantissa & 0x7fffff);
  }
}

Bytes inputOf(HcclDataType type, uint32_t rank, uint64_t first, uint64_t count) {
  const size_t size = reduce::typeSize(type);
  Bytes bytes(count * size);
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t bits = roughBits(type, rank, first + i);
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

// The inputs of all ranks, reduced by one in the order of ranks, or in the opposite one.
Bytes serial(HcclDataType type, uint32_t ranks, uint64_t first, uint64_t count, bool backwards) {
  std::vector<Bytes> inputs;
  std::vector<const void*> sources;
  for (uint32_t r = 0; r < ranks; ++r) {
    inputs.push_back(inputOf(type, backwards ? ranks - 1 - r : r, first, count));
  }
  for (const Bytes& input : inputs) sources.push_back(input.data());
  Bytes result(count * reduce::typeSize(type));
  void* target = result.data();
  reduce::combine(&target, 1, sources.data(), static_cast<int>(ranks), count, type,
                  HCCL_REDUCE_SUM);
  return result;
}

// Results of all ranks of a reduction whose element i is element first + i of the data.
struct Reduction {
  HcclCMDType op = HCCL_CMD_ALLREDUCE;
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  uint64_t first = 0;
  uint64_t count = 1;       // of the vector, or of a block
  size_t misalignment = 0;  // elements, of all buffers

  std::vector<Bytes> results(const Case& c, const plan::Choice& choice, uint32_t seed) const {
    const size_t size = reduce::typeSize(type);
    const uint32_t ranks = c.ranks();
    const uint64_t inputs = op == HCCL_CMD_REDUCE_SCATTER ? count * ranks : count;
    std::vector<Bytes> in(ranks), out(ranks);
    std::vector<CollectiveCall> calls(ranks);
    for (uint32_t r = 0; r < ranks; ++r) {
      const Bytes values = inputOf(type, r, first, inputs);
      in[r].resize((inputs + misalignment) * size);
      out[r].resize((count + misalignment) * size);
      std::memcpy(in[r].data() + misalignment * size, values.data(), values.size());
      calls[r].type = op;
      calls[r].dataType = type;
      calls[r].reduceOp = HCCL_REDUCE_SUM;
      calls[r].count = count;
      calls[r].root = c.root;
      calls[r].send = in[r].data() + misalignment * size;
      calls[r].recv = out[r].data() + misalignment * size;
    }
    EXPECT_EQ(worldOf(c, seed)->run(calls, topologyOf(c), choice), "") << c.text();
    for (Bytes& bytes : out) {
      bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(misalignment * size));
    }
    return out;
  }
};

TEST(Determinism, StrictIsRankOrderWhateverTheLayout) {
  const std::vector<std::vector<uint32_t>> layouts = {{4}, {2, 2}, {3, 1}, {1, 1, 1, 1}};
  uint32_t seed = 1;
  for (const HcclDataType type : kTypes) {
    ASSERT_NE(serial(type, 4, 0, 1000, false), serial(type, 4, 0, 1000, true))
        << "the data does not show the order";
    for (const HcclCMDType op : {HCCL_CMD_ALLREDUCE, HCCL_CMD_REDUCE, HCCL_CMD_REDUCE_SCATTER}) {
      for (const auto& layout : layouts) {
        for (const Mix mix : {Mix::kInProcess, Mix::kTcp, Mix::kServersMalloc}) {
          for (const uint64_t count : {1ULL, 777ULL, 20001ULL}) {
            const Case c{op, "", "", false, mix, layout, count, seed % 4, false};
            const Reduction run{op, type, seed % 5 * 100, count, seed % 3};
            plan::OpDesc desc;
            desc.type = op;
            desc.count = count;
            const plan::Choice choice =
                plan::select(desc, topologyOf(c), *parseAlgoConfig("level0:NA;level1:NHR"), true,
                             count * reduce::typeSize(type));
            const auto results = run.results(c, choice, ++seed);
            for (uint32_t r = 0; r < 4; ++r) {
              if (op == HCCL_CMD_REDUCE && r != c.root) continue;
              const uint64_t at = run.first + (op == HCCL_CMD_REDUCE_SCATTER ? r * count : 0);
              ASSERT_EQ(results[r], serial(type, 4, at, count, false))
                  << c.text() << " rank " << r << " type " << type;
            }
          }
        }
      }
    }
  }
}

TEST(Determinism, EveryAlgorithmGivesTheSameBitsOnEveryRun) {
  const std::vector<uint32_t> layout = {2, 2, 2};
  for (const HcclDataType type : kTypes) {
    for (const plan::AlgorithmRow& row : plan::algorithmRows()) {
      for (const bool oneShot : {false, true}) {
        const bool spans = row.algorithm->spansLevels();
        std::vector<Bytes> before;
        uint32_t seed = 1;
        for (const Mix mix :
             {Mix::kInProcess, Mix::kTcp, Mix::kTcp, Mix::kServersMalloc, Mix::kMalloc}) {
          Case c{HCCL_CMD_ALLREDUCE,
                 spans ? "fullmesh" : row.token,
                 "",
                 oneShot,
                 mix,
                 layout,
                 5001,
                 0,
                 false};
          if (spans) c.level1 = row.token;
          if (!available(c)) continue;
          const Reduction run{HCCL_CMD_ALLREDUCE, type, 0, c.count, 0};
          const auto results = run.results(c, choiceOf(c), ++seed);
          for (const Bytes& result : results) {
            ASSERT_EQ(result, results[0]) << c.text() << ": ranks differ";
          }
          if (!before.empty()) {
            ASSERT_EQ(results, before) << c.text() << ": runs differ";
          }
          before = results;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hccl::test
