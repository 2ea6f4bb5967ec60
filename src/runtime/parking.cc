#include "src/runtime/parking.h"

#include "src/runtime/engine_core.h"
#include "src/runtime/futex.h"

namespace hccl::runtime {

void Parking::add(Sleeper* sleeper) {
  std::lock_guard lock(mutex_);
  // At the end: the longest sleeper is woken first.
  Sleeper** link = &first_;
  Sleeper* last = nullptr;
  while (*link != nullptr) {
    last = *link;
    link = &last->next;
  }
  *link = sleeper;
  sleeper->previous = last;
  sleeper->next = nullptr;
  if (!sleeper->inEpoll) parked_.fetch_add(1, std::memory_order_seq_cst);
  if (sleeper->stream != nullptr) {
    sleeper->stream->sleepers.fetch_add(1, std::memory_order_seq_cst);
  } else {
    generic_.fetch_add(1, std::memory_order_seq_cst);
  }
}

void Parking::remove(Sleeper* sleeper) {
  std::lock_guard lock(mutex_);
  if (sleeper->previous != nullptr) {
    sleeper->previous->next = sleeper->next;
  } else {
    first_ = sleeper->next;
  }
  if (sleeper->next != nullptr) sleeper->next->previous = sleeper->previous;
  if (!sleeper->inEpoll) parked_.fetch_sub(1, std::memory_order_seq_cst);
  if (sleeper->stream != nullptr) {
    sleeper->stream->sleepers.fetch_sub(1, std::memory_order_seq_cst);
  } else {
    generic_.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void Parking::wake(Sleeper* sleeper, EngineCore& engine) {
  if (sleeper->woken.exchange(1, std::memory_order_seq_cst) != 0) return;
  if (sleeper->inEpoll) {
    engine.ring();
  } else {
    futexWake(sleeper->woken, 1);
  }
}

void Parking::unparkStream(Stream* stream, EngineCore& engine) {
  std::lock_guard lock(mutex_);
  const uint64_t completed = stream->completedCount();
  for (Sleeper* s = first_; s != nullptr; s = s->next) {
    if (s->stream == stream && s->target <= completed) wake(s, engine);
  }
}

void Parking::unparkGeneric(EngineCore& engine) {
  std::lock_guard lock(mutex_);
  for (Sleeper* s = first_; s != nullptr; s = s->next) {
    if (s->stream == nullptr) wake(s, engine);
  }
}

void Parking::unparkOne() {
  std::lock_guard lock(mutex_);
  for (Sleeper* s = first_; s != nullptr; s = s->next) {
    if (s->inEpoll) continue;
    if (s->woken.exchange(1, std::memory_order_seq_cst) != 0) return;  // already on its way
    futexWake(s->woken, 1);
    return;
  }
}

}  // namespace hccl::runtime
