// Network: what links cost in the simulator, per level, and which of them are shared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/plan/topology.h"

namespace hccl::verify {

// Seconds, and seconds a byte.
struct LevelCost {
  double alpha = 5e-6;
  double beta = 1.0 / 25e9;
};

struct NetworkSpec {
  LevelCost inside = {1e-6, 1.0 / 50e9};   // of a server
  LevelCost between = {5e-6, 1.0 / 25e9};  // 200 Gb/s
  double gamma = 0;                        // of reducing one byte into another
  // Seconds a byte on what transfers share; 0: nothing is shared.
  double port = 0;    // each rank's NIC, each direction
  double uplink = 0;  // each server's, each direction
};

// Reads {"inside": {"alpha_us", "gbps"}, "between": {...}, "gamma_gbs", "port_gbps",
// "uplink_gbps"}; what is missing keeps its default.
Result<NetworkSpec> parseNetwork(const std::string& json);

// Transfers on shared resources. First come, first served, so they are asked for in order of time
// as far as they meet: O(1) each.
class Network {
 public:
  Network(const NetworkSpec& spec, const plan::Topology& topology);

  struct Transfer {
    double sent = 0;  // the source may be written again
    double arrived = 0;
  };
  Transfer send(uint32_t from, uint32_t to, double bytes, double start) {
    if (spec_.port > 0 || spec_.uplink > 0) return sendShared(from, to, bytes, start);
    const LevelCost& cost = level(from, to);
    const double seconds = cost.beta * bytes;
    return {start + seconds, start + cost.alpha + seconds};
  }

  const LevelCost& level(uint32_t a, uint32_t b) const {
    return serverOf_[a] == serverOf_[b] ? spec_.inside : spec_.between;
  }
  double gamma() const { return spec_.gamma; }
  // All pairs of ranks have the same link, and none is shared.
  bool uniform() const {
    const size_t servers = upOut_.size();
    return spec_.port == 0 && spec_.uplink == 0 && (servers == 1 || servers == portOut_.size());
  }
  bool sharesUplinks() const { return spec_.uplink > 0; }

 private:
  Transfer sendShared(uint32_t from, uint32_t to, double bytes, double start);
  // Passes `bytes` through a resource that is free from `free` on; returns when it begins.
  static double pass(double& free, double start, double seconds);

  NetworkSpec spec_;
  std::vector<uint32_t> serverOf_;
  std::vector<double> portOut_, portIn_, upOut_, upIn_;  // when each is free
};

}  // namespace hccl::verify
