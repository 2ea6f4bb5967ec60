// Parking: the threads of this process that sleep until their stream is done. Only sleeping threads
// and those that wake them take its lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "src/base/clock.h"

namespace hccl::runtime {

class EngineCore;
class Stream;

// Lies on the sleeping thread's stack while it is in the list.
struct Sleeper {
  std::atomic<uint32_t> woken{0};  // futex word
  Stream* stream = nullptr;        // nullptr: waits for something else
  uint64_t target = 0;             // of stream->completedCount()
  bool inEpoll = false;            // woken by the doorbell instead of the futex
  Sleeper* previous = nullptr;
  Sleeper* next = nullptr;
};

class Parking {
 public:
  void add(Sleeper* sleeper);
  void remove(Sleeper* sleeper);
  // Sleepers on futexes.
  uint32_t parked() const { return parked_.load(std::memory_order_seq_cst); }
  // Sleepers that wait for no stream.
  uint32_t generic() const { return generic_.load(std::memory_order_seq_cst); }

  // Wakes the sleepers whose target the stream has reached.
  void unparkStream(Stream* stream, EngineCore& engine);
  void unparkGeneric(EngineCore& engine);
  // Wakes one sleeper on a futex, so that it takes the role.
  void unparkOne();

 private:
  static void wake(Sleeper* sleeper, EngineCore& engine);

  std::mutex mutex_;
  Sleeper* first_ = nullptr;
  std::atomic<uint32_t> parked_{0};
  std::atomic<uint32_t> generic_{0};
};

}  // namespace hccl::runtime
