// The yardstick: an AllReduce with nothing around it. All inputs and outputs are mapped by all
// ranks; a rank waits for the others' flags, sums its part of all inputs in one pass, stores it to
// all outputs and waits for the others' second flags. PEER_RANK, PEER_RANKS: the place;
// PEER_SHARED: a file that all map, PEER_ROOM bytes a rank behind a first page.
#include <fcntl.h>
#include <immintrin.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "contender.h"

namespace hccl::peers {
namespace {

constexpr size_t kHead = 1 << 16;
constexpr size_t kStagger = 1088;
constexpr size_t kStreamBytes = 4 << 20;  // of a rank's data: larger ones pass by the cache

#ifdef __AVX512F__
using Vector = __m512;
constexpr size_t kLanes = 16;
Vector load(const float* p) {
  return _mm512_loadu_ps(p);
}
Vector add(Vector a, Vector b) {
  return _mm512_add_ps(a, b);
}
void store(float* p, Vector v) {
  _mm512_storeu_ps(p, v);
}
void stream(float* p, Vector v) {
  _mm512_stream_ps(p, v);
}
#else
using Vector = __m256;
constexpr size_t kLanes = 8;
Vector load(const float* p) {
  return _mm256_loadu_ps(p);
}
Vector add(Vector a, Vector b) {
  return _mm256_add_ps(a, b);
}
void store(float* p, Vector v) {
  _mm256_storeu_ps(p, v);
}
void stream(float* p, Vector v) {
  _mm256_stream_ps(p, v);
}
#endif

struct alignas(64) Flag {
  std::atomic<uint64_t> value;
};

class Bare final : public Contender {
 public:
  Bare() : room_(std::strtoull(setting("PEER_ROOM"), nullptr, 10)) {
    place_ = placeFromLeader();
    crowded_ = static_cast<unsigned>(place_.ranks) > std::thread::hardware_concurrency();
    const int file = open(setting("PEER_SHARED"), O_RDWR | O_CLOEXEC);
    const size_t size = kHead + room_ * static_cast<size_t>(place_.ranks);
    void* base =
        file < 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED) giveUp("cannot map PEER_SHARED");
    close(file);
    base_ = static_cast<char*>(base);
  }
  Place place() const override { return place_; }

  // All ranks allocate alike, so a buffer has the same place in every rank's room.
  float* allocate(size_t count) override {
    // Inputs and outputs that lie alike in their pages would look like one to the store queue.
    const size_t bytes = (count * sizeof(float) + 4095) / 4096 * 4096 + kStagger;
    if (used_ + bytes > room_) giveUp("PEER_ROOM is too small");
    char* memory = roomOf(place_.rank) + used_;
    used_ += bytes;
    ++live_;
    return reinterpret_cast<float*>(memory);
  }
  void free(float*) override {
    if (--live_ == 0) used_ = 0;
  }

  void allReduce(const float* in, float* out, size_t count) override {
    const auto ranks = static_cast<size_t>(place_.ranks);
    const size_t part = (count + ranks * 16 - 1) / (ranks * 16) * 16;
    const size_t begin = std::min(count, part * static_cast<size_t>(place_.rank));
    const size_t end = std::min(count, begin + part);
    meet(0);
    const bool past = count * sizeof(float) >= kStreamBytes && begin % kLanes == 0;
    if (ranks == 2) {
      sumTwo(in, out, begin, end, past);
    } else {
      sumAll(in, out, begin, end, past);
    }
    if (past) _mm_sfence();
    meet(1);
  }
  void barrier() override { meet(0); }

 private:
  char* roomOf(int rank) { return base_ + kHead + room_ * static_cast<size_t>(rank); }
  template <typename T>
  T* of(int rank, T* mine) {
    return reinterpret_cast<T*>(reinterpret_cast<intptr_t>(mine) +
                                (roomOf(rank) - roomOf(place_.rank)));
  }

  void sumTwo(const float* in, float* out, size_t begin, size_t end, bool past) {
    const float* other = of(1 - place_.rank, in);
    float* far = of(1 - place_.rank, out);
    size_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      const Vector sum = add(load(in + i), load(other + i));
      if (past) {
        stream(out + i, sum);
        stream(far + i, sum);
      } else {
        store(out + i, sum);
        store(far + i, sum);
      }
    }
    for (; i < end; ++i) out[i] = far[i] = in[i] + other[i];
  }

  void sumAll(const float* in, float* out, size_t begin, size_t end, bool past) {
    size_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      Vector sum = load(of(0, in) + i);
      for (int r = 1; r < place_.ranks; ++r) sum = add(sum, load(of(r, in) + i));
      for (int r = 0; r < place_.ranks; ++r)
        past ? stream(of(r, out) + i, sum) : store(of(r, out) + i, sum);
    }
    for (; i < end; ++i) {
      float sum = of(0, in)[i];
      for (int r = 1; r < place_.ranks; ++r) sum += of(r, in)[i];
      for (int r = 0; r < place_.ranks; ++r) of(r, out)[i] = sum;
    }
  }

  void meet(size_t which) {
    auto* flags = reinterpret_cast<Flag*>(base_) + which * static_cast<size_t>(place_.ranks);
    const uint64_t now = ++epochs_[which];
    flags[place_.rank].value.store(now, std::memory_order_release);
    for (int r = 0; r < place_.ranks; ++r) {
      while (flags[r].value.load(std::memory_order_acquire) < now)
        crowded_ ? void(sched_yield()) : _mm_pause();
    }
  }

  Place place_;
  size_t room_;
  bool crowded_ = false;
  char* base_ = nullptr;
  size_t used_ = 0;
  int live_ = 0;
  uint64_t epochs_[2] = {0, 0};
};

}  // namespace

std::unique_ptr<Contender> makeContender() {
  return std::make_unique<Bare>();
}

}  // namespace hccl::peers
