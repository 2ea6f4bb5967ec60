// A link that breaks is often a consequence: its peer has failed, and says why on another
// connection. The news gets a moment before the link itself is named as the cause.
#pragma once

#include <cstdint>

#include "src/base/clock.h"

namespace hccl::executor {

class BrokenLink {
 public:
  // Called at each look at the broken link; true when no better cause came in time. The owner looks
  // at the communicator's failure in between.
  bool settled() {
    const uint64_t now = monotonicNs();
    if (since_ == 0) since_ = now;
    return now - since_ >= kGraceNs;
  }

 private:
  static constexpr uint64_t kGraceNs = 200'000'000;
  uint64_t since_ = 0;
};

}  // namespace hccl::executor
