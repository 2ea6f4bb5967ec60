#include "src/fault/recorder.h"

#include <mutex>
#include <set>

#include "src/base/ticks.h"

namespace hccl {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

uint64_t packed(const OpFacts& facts) {
  return uint64_t{facts.type} | uint64_t{facts.dataType} << 8 | uint64_t{facts.reduceOp} << 16 |
         uint64_t{facts.root} << 32;
}

}  // namespace

const char* lastingName(const std::string& name) {
  static std::mutex mutex;
  static auto* const names = new std::set<std::string>;
  std::lock_guard lock(mutex);
  return names->insert(name).first->c_str();
}

const char* opStateName(OpState state) {
  switch (state) {
    case OpState::kQueued:
      return "queued";
    case OpState::kWaiting:
      return "waiting";
    case OpState::kDone:
      return "done";
    case OpState::kFailed:
      return "failed";
  }
  return "unknown";
}

Recorder::Slot* Recorder::slotOf(Ticket ticket) noexcept {
  if (ticket == 0) return nullptr;
  Slot& slot = slots_[(ticket - 1) % kSlots];
  return slot.ticket.load(kRelaxed) == ticket ? &slot : nullptr;
}

Recorder::Ticket Recorder::queued(const OpFacts& facts) noexcept {
  const Ticket ticket = next_.fetch_add(1, kRelaxed) + 1;
  Slot& slot = slots_[(ticket - 1) % kSlots];
  slot.ticket.store(0, kRelaxed);  // who reads meanwhile leaves it out
  std::atomic_thread_fence(std::memory_order_release);
  slot.sequence.store(facts.sequence, kRelaxed);
  slot.count.store(facts.count, kRelaxed);
  slot.kind.store(packed(facts), kRelaxed);
  slot.stream.store(facts.stream, kRelaxed);
  slot.algorithm.store(facts.algorithm, kRelaxed);
  slot.state.store(static_cast<uint64_t>(OpState::kQueued), kRelaxed);
  slot.queuedTicks.store(Ticks::now(), kRelaxed);
  slot.waitingNs.store(0, kRelaxed);
  slot.endedTicks.store(0, kRelaxed);
  slot.peer.store(-1, kRelaxed);
  slot.step.store("", kRelaxed);
  slot.ticket.store(ticket, std::memory_order_release);
  return ticket;
}

void Recorder::waits(Ticket ticket, int64_t peer, const char* step, uint64_t sinceNs) noexcept {
  Slot* slot = slotOf(ticket);
  if (slot == nullptr) return;
  slot->peer.store(peer, kRelaxed);
  slot->step.store(step, kRelaxed);
  slot->waitingNs.store(sinceNs, kRelaxed);
  slot->state.store(static_cast<uint64_t>(OpState::kWaiting), kRelaxed);
}

void Recorder::ended(Ticket ticket, bool isOk) noexcept {
  if (ticket == 0) return;
  ended_.fetch_add(1, kRelaxed);
  Slot* slot = slotOf(ticket);
  if (slot == nullptr) return;  // long ago: its place belongs to another one
  slot->endedTicks.store(Ticks::now(), kRelaxed);
  slot->state.store(static_cast<uint64_t>(isOk ? OpState::kDone : OpState::kFailed), kRelaxed);
}

std::vector<OpRecord> Recorder::snapshot() const {
  const uint64_t last = next_.load(std::memory_order_acquire);
  const uint64_t first = last > kSlots ? last - kSlots : 0;
  std::vector<OpRecord> records;
  const Ticks::Converter converter;
  const auto nsOf = [&](uint64_t ticks) { return ticks == 0 ? 0 : converter.toNs(ticks); };
  for (uint64_t i = first; i < last; ++i) {
    const Slot& slot = slots_[i % kSlots];
    if (slot.ticket.load(std::memory_order_acquire) != i + 1) continue;
    OpRecord record;
    const uint64_t kind = slot.kind.load(kRelaxed);
    record.facts = {slot.sequence.load(kRelaxed),
                    slot.count.load(kRelaxed),
                    static_cast<uint32_t>(kind >> 32),
                    static_cast<uint8_t>(kind),
                    static_cast<uint8_t>(kind >> 8),
                    static_cast<uint8_t>(kind >> 16),
                    static_cast<uint32_t>(slot.stream.load(kRelaxed)),
                    slot.algorithm.load(kRelaxed)};
    record.state = static_cast<OpState>(slot.state.load(kRelaxed));
    record.queuedNs = nsOf(slot.queuedTicks.load(kRelaxed));
    record.waitingNs = slot.waitingNs.load(kRelaxed);
    record.endedNs = nsOf(slot.endedTicks.load(kRelaxed));
    record.peer = slot.peer.load(kRelaxed);
    record.step = slot.step.load(kRelaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (slot.ticket.load(kRelaxed) == i + 1) records.push_back(record);
  }
  return records;
}

}  // namespace hccl
