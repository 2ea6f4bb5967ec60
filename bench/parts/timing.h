// How long calls take.
#pragma once

#include <functional>

#include "bench/parts/device.h"
#include "bench/parts/options.h"

namespace hccl::bench {

// Microseconds of one call. The last three are measured with --sync only.
struct Timing {
  double average = 0;
  double median = 0;
  double percentile99 = 0;
  double minimum = 0;
};

// Warms up, then measures options.iterations calls of `call`, which enqueues on the session's
// stream.
Timing measure(const Session& session, const Options& options, const std::function<void()>& call);

}  // namespace hccl::bench
