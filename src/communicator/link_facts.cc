#include "src/communicator/link_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "transport/transport.h"

namespace hccl {
namespace {

using plan::CostClass;
using transport::HostFacts;

// The best class that joins all of the ranks.
class Meeting {
 public:
  void add(const HostFacts& facts) {
    kernels_.insert(facts.kernel);
    const auto has = [&](const char* name) {
      return std::find(facts.transports.begin(), facts.transports.end(), name) !=
             facts.transports.end();
    };
    memory_ = memory_ && has("shm");
    rdma_ = rdma_ && has("rdma");
  }
  CostClass linkClass() const {
    if (memory_ && kernels_.size() <= 1) return CostClass::kShared;
    return rdma_ ? CostClass::kRdma : CostClass::kTcp;
  }

 private:
  std::set<std::string> kernels_;
  bool memory_ = true;
  bool rdma_ = true;
};

struct Host {
  uint32_t ranks = 0;
  uint32_t processors = 1;
};

}  // namespace

Result<plan::LevelClasses> levelClasses(const Cluster& cluster, const plan::Topology& topology) {
  plan::LevelClasses classes;
  Meeting all;
  std::map<uint32_t, Meeting> servers;
  std::map<std::string, Host> hosts;
  for (const RankInfo& info : cluster.ranks) {
    HCCL_ASSIGN_OR_RETURN(const HostFacts facts, transport::hostFactsOf(info.endpoint));
    all.add(facts);
    servers[topology.serverOf[info.rank]].add(facts);
    Host& host = hosts[facts.kernel];
    ++host.ranks;
    host.processors = std::max(host.processors, facts.processors);
  }
  classes.between = all.linkClass();
  for (const auto& [index, server] : servers) {
    classes.inside = std::max(classes.inside, server.linkClass());
  }
  for (const auto& [kernel, host] : hosts) {
    classes.crowding = std::max(
        classes.crowding, static_cast<double>(host.ranks) / static_cast<double>(host.processors));
  }
  return classes;
}

}  // namespace hccl
