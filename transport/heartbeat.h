// Heartbeat: one rank's part in the heartbeat rings of its communicator. It gives signs of life to
// its neighbours over the pairs' channels, misses theirs, and passes on what it hears about any
// rank, so that all learn which one is at fault. Each neighbour forwards an event once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "transport/control_thread.h"
#include "transport/wire.h"

namespace hccl::transport {

class LinksCore;

// HCCL's numbers.
enum class ClusterEvent : uint32_t {
  kOk = 0,
  kLost = 1,
  kNotify = 2,
  kCqeError = 3,
  kRetryNotSupported = 4,
  kStuck = 5,
  kInconsistent = 6,
};

class Heartbeat {
 public:
  explicit Heartbeat(LinksCore* core) : core_(core) {}

  // Control thread only.
  void begin(ControlThread* thread);
  void end();
  void onSign(uint32_t peer, const HeartbeatBody& body);
  // This rank's operations have failed: what the others should know is passed on.
  void onOwnFailure(const Status& cause);

  // Any thread. The lines about ranks at fault, the most telling first, at most 3.
  std::vector<std::string> locations() const;
  // "ip/device".
  std::string nameOf(uint32_t rank) const;

 private:
  struct Neighbour {
    uint64_t heardNs = 0;  // 0: not yet
    bool lost = false;
  };
  struct Event {
    ClusterEvent kind = ClusterEvent::kOk;
    uint32_t crimer = 0;
    uint32_t informer = 0;
    std::string time;
  };

  void tick();
  void watch(uint32_t rank, Neighbour& neighbour, uint64_t now);
  void lookForStuck(uint64_t now);
  void learn(ClusterEvent kind, uint32_t crimer, uint32_t informer, int64_t from);
  void fail(uint32_t crimer, uint32_t informer);
  std::string lineOf(const Event& event) const;

  LinksCore* core_;
  ControlThread* thread_ = nullptr;
  uint64_t timer_ = 0;
  uint64_t tickedNs_ = 0;
  std::map<uint32_t, Neighbour> neighbours_;
  std::set<std::pair<ClusterEvent, uint32_t>> known_;
  uint64_t stuckLookNs_ = 0;
  std::pair<uint64_t, uint64_t> progress_{0, 0};
  mutable std::mutex mutex_;
  std::deque<Event> events_;  // guarded
};

}  // namespace hccl::transport
