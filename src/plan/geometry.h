// Geometry: where the blocks of an operation lie, in the callers' buffers and in staging, iteration
// by iteration. Depends on agreed data only, save the displacements of V operations, which are the
// rank's own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/plan/op.h"

namespace hccl::plan {

enum class BufferShape : uint8_t {
  kNone,    // the rank has no such buffer in this operation
  kFull,    // all blocks
  kSingle,  // the rank's own block only
};

struct Geometry {
  static constexpr uint64_t kAlignBytes = 128;  // of block boundaries inside a vector

  bool vector = true;
  uint64_t elementSize = 4;
  uint32_t blocks = 1;
  uint64_t total = 0;     // vector: elements in all; else elements of a block (uniform)
  uint64_t capacity = 1;  // elements of a block in one iteration at most
  uint64_t iterations = 1;
  // V and AlltoAll operations: elements and displacements by block, of this rank's buffers; else
  // nullptr.
  const uint64_t* inputCounts = nullptr;
  const uint64_t* inputDispls = nullptr;
  const uint64_t* outputCounts = nullptr;
  const uint64_t* outputDispls = nullptr;

  // `stagingBlocks`: staging blocks that the plan may need besides the buffers' own (agreed upper
  // bound).
  static uint64_t chooseCapacity(bool vector, uint64_t elementSize, uint32_t blocks,
                                 uint64_t maxElements, uint32_t stagingBlocks, uint64_t bufferBytes,
                                 uint64_t chunkBytes) {
    const uint64_t budget = std::min(chunkBytes, bufferBytes);
    const uint64_t share = std::max<uint64_t>(
        std::min(budget / blocks, 2 * bufferBytes / (2 * (2 * blocks + uint64_t{stagingBlocks}))),
        1);
    const uint64_t unit = std::max<uint64_t>(kAlignBytes / elementSize, 1);
    const uint64_t most = std::max<uint64_t>(share / elementSize / unit, 1) * unit;
    const uint64_t perBlock = vector ? (maxElements + blocks - 1) / blocks : maxElements;
    const uint64_t needed = std::max<uint64_t>((perBlock + unit - 1) / unit, 1) * unit;
    return std::min(most, needed);
  }

  void setIterations(uint64_t maxElements) {
    const uint64_t step = vector ? capacity * blocks : capacity;
    iterations = std::max<uint64_t>((maxElements + step - 1) / step, 1);
  }

  // Elements between the starts of neighbouring blocks of a vector in iteration c.
  uint64_t pitch(uint64_t c) const {
    if (!vector) return capacity;
    const uint64_t chunk = chunkElements(c);
    if (chunk == capacity * blocks) return capacity;
    const uint64_t unit = std::max<uint64_t>(kAlignBytes / elementSize, 1);
    const uint64_t even = (chunk + blocks - 1) / blocks;
    return std::min(capacity, (even + unit - 1) / unit * unit);
  }

  uint64_t chunkElements(uint64_t c) const {
    const uint64_t start = c * capacity * blocks;
    return start >= total ? 0 : std::min(total - start, capacity * blocks);
  }

  // Elements of `run` consecutive blocks (more than one only in vectors) of this rank's input or
  // output.
  uint64_t length(bool output, uint32_t block, uint32_t run, uint64_t c) const {
    if (vector) {
      const uint64_t chunk = chunkElements(c);
      const uint64_t begin = std::min<uint64_t>(block * pitch(c), chunk);
      const uint64_t end = std::min<uint64_t>((uint64_t{block} + run) * pitch(c), chunk);
      return end - begin;
    }
    const uint64_t* counts = output ? outputCounts : inputCounts;
    const uint64_t all = counts != nullptr ? counts[block] : total;
    return all <= c * capacity ? 0 : std::min(all - c * capacity, capacity);
  }

  // Element offset in the caller's buffer.
  uint64_t userOffset(bool output, BufferShape shape, uint32_t block, uint64_t c) const {
    if (vector) return c * capacity * blocks + block * pitch(c);
    if (shape == BufferShape::kSingle) return c * capacity;
    const uint64_t* displs = output ? outputDispls : inputDispls;
    return (displs != nullptr ? displs[block] : block * total) + c * capacity;
  }

  // Element offset in a staging slot of a buffer with this shape.
  uint64_t slotOffset(BufferShape shape, uint32_t block, uint64_t c) const {
    return shape == BufferShape::kSingle ? 0 : block * pitch(c);
  }

  uint16_t hash() const {
    uint64_t h = capacity * 0x9e3779b97f4a7c15ULL ^ blocks * 0xc2b2ae3d27d4eb4fULL;
    h ^= h >> 29;
    return static_cast<uint16_t>((h ^ h >> 13 ^ h >> 41) & 0xfff);
  }
};

}  // namespace hccl::plan
