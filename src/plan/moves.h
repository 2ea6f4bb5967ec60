// Move: the algorithms' language. A move is owned by one rank, which combines the same number of
// blocks out of source buffers of some ranks into target buffers of some ranks. One local target
// and one remote source: a receive. One more local source: receive and reduce. All ranks' inputs
// into all ranks' outputs: the one-pass AllReduce of a slice. Since the rank whose buffer is
// touched computes the very same move, both halves of every transfer match by construction.
#pragma once

#include <cstdint>
#include <vector>

namespace hccl::plan {

// In an algorithm of one stage: what the stage reads (kInput), where its result goes (kOutput) and
// where partial results may live (kScratch). In a schedule: the operation's buffers.
enum class Buffer : uint8_t { kInput, kOutput, kScratch };

struct Ref {
  Buffer buffer = Buffer::kInput;
  uint32_t block = 0;
  bool operator==(const Ref&) const = default;
};

struct Move {
  uint32_t owner = 0;
  std::vector<uint32_t> targets;  // rank of each target operand
  std::vector<uint32_t> sources;  // rank of each source operand, in the order of combination
  // Segment by segment: a Ref for each target, then for each source.
  std::vector<Ref> refs;

  size_t operands() const { return targets.size() + sources.size(); }
  size_t segments() const { return operands() == 0 ? 0 : refs.size() / operands(); }
  const Ref& ref(size_t segment, size_t operand) const {
    return refs[segment * operands() + operand];
  }
  uint32_t rankOf(size_t operand) const {
    return operand < targets.size() ? targets[operand] : sources[operand - targets.size()];
  }
};

}  // namespace hccl::plan
