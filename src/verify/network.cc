#include "src/verify/network.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hccl::verify {

Result<NetworkSpec> parseNetwork(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return Status(HCCL_E_PARA, "the network is no JSON object");
  NetworkSpec spec;
  const auto positive = [](const nlohmann::json& object, const char* key, double& value) {
    if (!object.contains(key)) return true;
    if (!object[key].is_number() || object[key].get<double>() <= 0) return false;
    value = object[key].get<double>();
    return true;
  };
  const auto level = [&](const char* key, LevelCost& cost) {
    if (!json.contains(key)) return true;
    double alpha = cost.alpha * 1e6;
    double gbps = 8e-9 / cost.beta;
    if (!json[key].is_object() || !positive(json[key], "alpha_us", alpha) ||
        !positive(json[key], "gbps", gbps)) {
      return false;
    }
    cost = {alpha * 1e-6, 8e-9 / gbps};
    return true;
  };
  double gamma = 0;
  double port = 0;
  double uplink = 0;
  if (!level("inside", spec.inside) || !level("between", spec.between) ||
      !positive(json, "gamma_gbs", gamma) || !positive(json, "port_gbps", port) ||
      !positive(json, "uplink_gbps", uplink)) {
    return Status(HCCL_E_PARA, "the network's numbers must be positive");
  }
  if (gamma > 0) spec.gamma = 1e-9 / gamma;
  if (port > 0) spec.port = 8e-9 / port;
  if (uplink > 0) spec.uplink = 8e-9 / uplink;
  return spec;
}

Network::Network(const NetworkSpec& spec, const plan::Topology& topology)
    : spec_(spec),
      serverOf_(topology.serverOf),
      portOut_(topology.rankCount, 0),
      portIn_(topology.rankCount, 0),
      upOut_(topology.servers.size(), 0),
      upIn_(topology.servers.size(), 0) {}

double Network::pass(double& free, double start, double seconds) {
  const double begin = std::max(free, start);
  free = begin + seconds;
  return begin;
}

// A transfer streams through everything on its way: it begins when the last of the sender's side is
// free, and its end arrives when the slowest has passed it on.
Network::Transfer Network::sendShared(uint32_t from, uint32_t to, double bytes, double start) {
  const LevelCost& cost = level(from, to);
  const bool outside = serverOf_[from] != serverOf_[to];
  double begin = start;
  double slowest = cost.beta * bytes;
  if (spec_.port > 0) {
    begin = pass(portOut_[from], begin, spec_.port * bytes);
    slowest = std::max(slowest, spec_.port * bytes);
  }
  if (spec_.uplink > 0 && outside) {
    begin = pass(upOut_[serverOf_[from]], begin, spec_.uplink * bytes);
    slowest = std::max(slowest, spec_.uplink * bytes);
  }
  double landing = begin + cost.alpha;  // the first byte's
  if (spec_.uplink > 0 && outside) {
    landing = pass(upIn_[serverOf_[to]], landing, spec_.uplink * bytes);
  }
  if (spec_.port > 0) landing = pass(portIn_[to], landing, spec_.port * bytes);
  return {begin + slowest, landing + slowest};
}

}  // namespace hccl::verify
