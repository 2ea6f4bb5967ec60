// HandleTable: objects behind opaque handles. A handle names a slot and its generation, so that a
// destroyed or invented handle is recognised without touching freed memory: slots are never freed,
// only used again. Looking up takes no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace hccl::runtime {

template <typename T, uint8_t kTag, uint32_t kMaxObjects>
class HandleTable {
 public:
  struct Slot {
    std::atomic<uint32_t> generation{0};  // odd while the object is live
    T object;
  };

  // A free slot whose object is not yet visible; nullptr when all are taken.
  T* acquire(uint32_t* index) {
    std::lock_guard lock(mutex_);
    if (free_.empty() && !grow()) return nullptr;
    *index = free_.back();
    free_.pop_back();
    return &slot(*index)->object;
  }
  // Makes the object visible and returns its handle.
  void* publish(uint32_t index) {
    const uint32_t generation = slot(index)->generation.load(std::memory_order_relaxed) + 1;
    slot(index)->generation.store(generation, std::memory_order_release);
    return handleOf(index, generation);
  }
  // Makes the handle dead. False when it was already.
  bool retract(void* handle) {
    uint32_t index = 0;
    uint32_t generation = 0;
    if (!decode(handle, &index, &generation)) return false;
    return slot(index)->generation.compare_exchange_strong(generation, generation + 1,
                                                           std::memory_order_acq_rel);
  }
  // The slot of a retracted object may be used again.
  void recycle(uint32_t index) {
    std::lock_guard lock(mutex_);
    free_.push_back(index);
  }

  T* find(void* handle) const {
    uint32_t index = 0;
    uint32_t generation = 0;
    if (!decode(handle, &index, &generation)) return nullptr;
    Slot* s = slot(index);
    return s->generation.load(std::memory_order_acquire) == generation ? &s->object : nullptr;
  }
  void* liveHandle(uint32_t index) const {
    if (index >= count_.load(std::memory_order_acquire)) return nullptr;
    const uint32_t generation = slot(index)->generation.load(std::memory_order_acquire);
    return (generation & 1) != 0 ? handleOf(index, generation) : nullptr;
  }
  // The object of a slot, live or not; the index must be below count().
  T* at(uint32_t index) const { return &slot(index)->object; }
  uint32_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  static constexpr uint32_t kChunk = 64;
  struct Chunk {
    std::array<Slot, kChunk> slots;
  };

  // Tag in bits 56..63 would make a non-canonical address; 40..47 leaves room for 24 bits of
  // generation above 16 bits of index.
  static void* handleOf(uint32_t index, uint32_t generation) {
    const uint64_t bits = (static_cast<uint64_t>(kTag) << 40) |
                          (static_cast<uint64_t>(generation & 0xffffff) << 16) | index;
    return reinterpret_cast<void*>(bits);  // NOLINT(performance-no-int-to-ptr)
  }
  bool decode(void* handle, uint32_t* index, uint32_t* generation) const {
    const auto bits = reinterpret_cast<uint64_t>(handle);
    *index = static_cast<uint32_t>(bits & 0xffff);
    if (bits >> 40 != kTag || *index >= count_.load(std::memory_order_acquire)) return false;
    *generation = slot(*index)->generation.load(std::memory_order_acquire);
    return (*generation & 1) != 0 && (*generation & 0xffffff) == ((bits >> 16) & 0xffffff);
  }
  Slot* slot(uint32_t index) const {
    return &chunks_[index / kChunk].load(std::memory_order_acquire)->slots[index % kChunk];
  }
  bool grow() {
    const uint32_t first = count_.load(std::memory_order_relaxed);
    if (first + kChunk > kMaxObjects) return false;
    owned_.push_back(std::make_unique<Chunk>());
    chunks_[first / kChunk].store(owned_.back().get(), std::memory_order_release);
    for (uint32_t i = kChunk; i > 0; --i) free_.push_back(first + i - 1);
    count_.store(first + kChunk, std::memory_order_release);
    return true;
  }

  static_assert(kMaxObjects <= 0x10000 && kMaxObjects % kChunk == 0);
  std::array<std::atomic<Chunk*>, kMaxObjects / kChunk> chunks_{};
  std::atomic<uint32_t> count_{0};
  std::mutex mutex_;
  std::vector<uint32_t> free_;
  std::vector<std::unique_ptr<Chunk>> owned_;
};

}  // namespace hccl::runtime
