#include "bench/parts/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <numeric>
#include <vector>

#include "bench/parts/error.h"

namespace hccl::bench {
namespace {

// Holds a stream until it is opened, so that calls are enqueued before the first one runs. The
// stream must not outlive it.
class Gate {
 public:
  explicit Gate(aclrtStream stream) {
    require(aclrtLaunchHostFunc(stream, &Gate::wait, &opened_), "aclrtLaunchHostFunc");
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() {
    if (!isOpen_) promise_.set_value();
    isOpen_ = true;
  }

 private:
  static void wait(void* opened) {
    static_cast<std::shared_future<void>*>(opened)->wait_for(std::chrono::minutes(10));
  }

  std::promise<void> promise_;
  std::shared_future<void> opened_{promise_.get_future()};
  bool isOpen_ = false;
};

Timing measureEnqueued(const Session& session, const Options& options,
                       const std::function<void()>& call) {
  const StreamTimer timer(session.stream());
  const auto enqueue = [&] {
    timer.start();
    for (uint32_t i = 0; i < options.iterations; ++i) call();
    timer.stop();
  };
  if (options.onlyDeviceTime) {
    Gate gate(session.stream());
    enqueue();
    gate.open();
    session.synchronise();
  } else {
    enqueue();
    session.synchronise();
  }
  Timing timing;
  timing.average = timer.microseconds() / options.iterations;
  return timing;
}

double percentile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(std::lround(share * last))];
}

Timing measureSynchronised(const Session& session, const Options& options,
                           const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  session.synchronise();
  std::vector<double> times(options.iterations);
  for (double& time : times) {
    const auto begin = Clock::now();
    call();
    session.synchronise();
    time = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  std::sort(times.begin(), times.end());
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  return {sum / options.iterations, percentile(times, 0.5), percentile(times, 0.99), times.front()};
}

}  // namespace

Timing measure(const Session& session, const Options& options, const std::function<void()>& call) {
  for (uint32_t i = 0; i < options.warmUps; ++i) call();
  return options.synchronous ? measureSynchronised(session, options, call)
                             : measureEnqueued(session, options, call);
}

}  // namespace hccl::bench
