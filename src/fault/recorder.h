// Recorder: the flight recorder of one rank of a communicator, a ring of its last operations. Any
// thread writes and any thread reads at any time, without locks; nothing is allocated after
// construction. An operation costs two time stamps (src/base/ticks.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace hccl {

enum class OpState : uint64_t { kQueued, kWaiting, kDone, kFailed };
const char* opStateName(OpState state);

// What the caller asked for.
struct OpFacts {
  uint64_t sequence = 0;
  uint64_t count = 0;
  uint32_t root = 0;
  uint8_t type = 0;      // HcclCMDType
  uint8_t dataType = 0;  // HcclDataType
  uint8_t reduceOp = 0;  // HcclReduceOp
  uint32_t stream = 0;
  const char* algorithm = "";  // lives as long as the process: see lastingName
};

// A copy of the name that is never freed; equal names share it.
const char* lastingName(const std::string& name);

struct OpRecord {
  OpFacts facts;
  OpState state = OpState::kQueued;
  uint64_t queuedNs = 0;   // of the monotonic clock
  uint64_t waitingNs = 0;  // since when it waits for `peer`; 0: it does not
  uint64_t endedNs = 0;
  int64_t peer = -1;
  const char* step = "";  // of its plan, that waits
};

class Recorder {
 public:
  static constexpr size_t kSlots = 256;
  using Ticket = uint64_t;  // 0: none

  Ticket queued(const OpFacts& facts) noexcept;
  // `step` is a literal.
  void waits(Ticket ticket, int64_t peer, const char* step, uint64_t sinceNs) noexcept;
  void ended(Ticket ticket, bool isOk) noexcept;

  uint64_t queuedCount() const { return next_.load(std::memory_order_relaxed); }
  uint64_t endedCount() const { return ended_.load(std::memory_order_relaxed); }

  // Oldest first. What is written at this moment may be left out.
  std::vector<OpRecord> snapshot() const;

 private:
  struct Slot {
    std::atomic<Ticket> ticket{0};
    std::atomic<uint64_t> sequence{0}, count{0}, kind{0}, stream{0}, state{0};
    std::atomic<uint64_t> queuedTicks{0}, waitingNs{0}, endedTicks{0};
    std::atomic<int64_t> peer{-1};
    std::atomic<const char*> step{""}, algorithm{""};
  };
  Slot* slotOf(Ticket ticket) noexcept;

  std::array<Slot, kSlots> slots_;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> ended_{0};
};

}  // namespace hccl
