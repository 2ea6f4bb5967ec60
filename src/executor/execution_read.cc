// The combinations of Execution whose sources are plain memory of other processes: that is read
// piece by piece into memory of this rank, which the cache holds.
#include <algorithm>
#include <cerrno>

#include "src/executor/execution.h"
#include "src/executor/plain_read.h"
#include "src/reduce/reduce.h"

namespace hccl::executor {
namespace {

// What is read before it is used: large enough for the price of a system call, small enough to stay
// in the cache of the core.
constexpr uint64_t kRoomBytes = 256ULL << 10;

}  // namespace

bool Execution::isPlain(uint32_t rank, const plan::Ref& ref) const {
  return ref.buffer == plan::Buffer::kInput && rank != plan_->rank &&
         context_.peer(rank).plainInput != 0;
}

// A process that has ended is not an error here: whoever watches it says so, and this step waits.
Execution::Outcome Execution::readFrom(uint32_t rank, void* to, const void* from, uint64_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(from);
  const int error = context_.peer(rank).direct->read(to, address, bytes);
  if (error == 0) return Outcome::kDone;
  if (error == ESRCH) return Outcome::kIdle;
  return failWith(plainReadError(rank, bytes, address, error));
}

// targets_ and sources_ hold the addresses; those of plain sources are ones of other processes.
Execution::Outcome Execution::combineRead(const plan::Step& step, const plan::Segment& segment,
                                          int targets, uint64_t bytes) {
  const auto sourceRank = [&](uint32_t i) {
    return plan_->operandRanks[step.operand + step.targets + i];
  };
  if (step.sources == 1) {
    const Outcome outcome = readFrom(sourceRank(0), targets_[0], sources_[0], bytes);
    for (int i = 1; i < targets && outcome == Outcome::kDone; ++i) {
      reduce::copy(targets_[static_cast<size_t>(i)], targets_[0], bytes, false);
    }
    if (outcome == Outcome::kIdle) describeWait(step);
    return outcome;
  }
  if (room_.empty()) room_.resize(kRoomBytes);
  const uint64_t size = launch_->geometry.elementSize;
  const uint64_t piece = kRoomBytes / step.sources / 64 * 64;
  const auto movedBy = [](const void* place, uint64_t offset) {
    return static_cast<const std::byte*>(place) + offset;
  };
  for (uint64_t begin = 0; begin < bytes; begin += piece) {
    const uint64_t now = std::min(piece, bytes - begin);
    for (uint32_t i = 0; i < step.sources; ++i) {
      pieces_[i] = movedBy(sources_[i], begin);
      if (!isPlain(sourceRank(i), plan_->refs[segment.refs + step.targets + i])) continue;
      const Outcome outcome = readFrom(sourceRank(i), room_.data() + i * piece, pieces_[i], now);
      if (outcome == Outcome::kIdle) describeWait(step);
      if (outcome != Outcome::kDone) return outcome;
      pieces_[i] = room_.data() + i * piece;
    }
    for (int i = 0; i < targets; ++i) {
      const auto at = static_cast<size_t>(i);
      pieceTargets_[at] = static_cast<std::byte*>(targets_[at]) + begin;
    }
    reduce::combine(pieceTargets_.data(), targets, pieces_.data(), step.sources, now / size,
                    launch_->op.dataType, launch_->op.reduceOp, false);
  }
  return Outcome::kDone;
}

}  // namespace hccl::executor
