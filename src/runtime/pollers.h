// Pollers: what has to be advanced besides the streams.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "src/runtime/engine.h"

namespace hccl::runtime {

class Pollers {
 public:
  static constexpr size_t kMax = 64;

  // False when all places are taken.
  bool add(Poller* poller);
  void remove(Poller* poller);
  uint32_t count() const { return count_.load(std::memory_order_seq_cst); }
  // True when something moved; `busy` is set when another thread is inside one of them.
  bool poll(bool* busy);

 private:
  struct Place {
    std::atomic<Poller*> poller{nullptr};
    std::atomic<bool> inside{false};
  };
  std::array<Place, kMax> places_;
  std::atomic<uint32_t> used_{0};  // places ever used
  std::atomic<uint32_t> count_{0};
};

}  // namespace hccl::runtime
