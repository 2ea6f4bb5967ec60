#include "src/communicator/world.h"

#include <fmt/core.h>

#include <map>
#include <mutex>
#include <set>

#include "src/base/clock.h"
#include "src/base/interfaces.h"
#include "src/base/ip_address.h"
#include "src/base/log.h"
#include "src/bootstrap/digest.h"
#include "src/bootstrap/rank_table.h"
#include "src/bootstrap/rendezvous.h"
#include "src/communicator/initialize.h"
#include "src/communicator/opening.h"
#include "src/communicator/registry.h"
#include "src/fault/ei_errors.h"
#include "src/runtime/devices.h"
#include "src/runtime/engine.h"

namespace hccl {
namespace {

constexpr const char* kOp = "HcclCommInitClusterInfo";

std::mutex mutex;
struct Worlds {
  std::map<int32_t, HcclComm> live;  // may hold handles that have been destroyed since
  std::set<int32_t> coming;          // devices whose world is being made
};
Worlds& worlds() {
  static Worlds* all = new Worlds;  // lives until the process ends
  return *all;
}

// Reserves the device for the time in which its world is made.
class Reservation {
 public:
  explicit Reservation(int32_t device) : device_(device) {
    std::lock_guard lock(mutex);
    const auto known = worlds().live.find(device);
    const bool exists = known != worlds().live.end() && Registry::instance().find(known->second);
    held_ = !exists && worlds().coming.insert(device).second;
  }
  ~Reservation() {
    if (!held_) return;
    std::lock_guard lock(mutex);
    worlds().coming.erase(device_);
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  bool held() const { return held_; }
  void keep(HcclComm handle) {
    std::lock_guard lock(mutex);
    worlds().live[device_] = handle;
  }

 private:
  int32_t device_;
  bool held_ = false;
};

bool isLocal(const IpAddress& ip) {
  if (ip.isLoopback()) return true;
  const auto interfaces = listInterfaces();
  if (!interfaces.isOk()) return false;
  for (const NetInterface& interface : *interfaces) {
    for (const IpAddress& own : interface.addresses) {
      if (own == ip) return true;
    }
  }
  return false;
}

// The address at which peers reach this rank's data plane: the first of its device addresses (not
// for ranks that use the host's card) and host addresses that this host has. A table of one server
// may name addresses that nobody has: loopback serves there. Empty: the host's own choice. Further
// device addresses that this host has follow behind commas.
std::string dataAddress(const Cluster& cluster, const RankInfo& mine) {
  std::vector<std::string> candidates;
  if (!mine.hostNic) candidates = mine.deviceIps;
  candidates.push_back(mine.hostIp);
  candidates.push_back(mine.serverId);
  std::string first;
  for (const std::string& candidate : candidates) {
    const auto ip = IpAddress::parse(candidate);
    if (!ip) continue;
    if (isLocal(*ip)) {
      std::string all = candidate;
      for (const std::string& other : mine.hostNic ? std::vector<std::string>() : mine.deviceIps) {
        const auto more = IpAddress::parse(other);
        if (more && !(*more == *ip) && isLocal(*more)) all += "," + other;
      }
      return all;
    }
    if (first.empty()) first = candidate;
  }
  if (cluster.servers().size() == 1) return IpAddress::loopback(AF_INET).toString();
  return first;
}

}  // namespace

HcclComm worldHandle(int32_t device) {
  std::lock_guard lock(mutex);
  const auto& live = worlds().live;
  const auto own = live.find(device);
  if (own != live.end() && Registry::instance().find(own->second)) return own->second;
  for (const auto& [other, handle] : live) {
    if (Registry::instance().find(handle)) return handle;
  }
  return nullptr;
}

Result<HcclComm> joinWorld(const TableRequest& request, const LoadedConfig& config,
                           const Environment& environment) {
  const uint64_t begin = monotonicNs();
  RankTableOptions tableOptions = rankTableOptions(environment);
  if (request.device >= 0) tableOptions.localDevice = static_cast<uint32_t>(request.device);
  const auto load = [&] {
    return request.isText
               ? parseRankTable(request.table, std::to_string(request.rank), tableOptions)
               : loadRankTable(request.table, request.rank, tableOptions);
  };
  std::optional<RankTable> table;
  int32_t device = request.device;
  if (device < 0) {  // the table says which
    HCCL_ASSIGN_OR_RETURN(table, load());
    device = static_cast<int32_t>(table->cluster.ranks[table->rank].deviceId);
    if (static_cast<uint32_t>(device) >= runtime::deviceCount()) {
      return eiError(Ei::kRankTableValue, HCCL_E_PARA,
                     {std::to_string(device), "device_id",
                      fmt::format("less than {}, the number of devices", runtime::deviceCount())});
    }
  }
  Reservation reservation(device);
  if (!reservation.held()) {
    return argumentError(HCCL_E_UNAVAIL, kOp, "multiple initialization",
                         fmt::format("{} of device {}", kWorldGroup, device),
                         "one communicator; destroy the one that exists first");
  }
  if (!table) {
    HCCL_ASSIGN_OR_RETURN(table, load());
  }
  if (request.device < 0) runtime::setCurrentDevice(device);

  RankInfo mine = table->cluster.ranks[table->rank];
  HCCL_ASSIGN_OR_RETURN(
      mine.endpoint,
      transport::localEndpoint(device, dataAddress(table->cluster, mine), mine.devicePort));
  CommunicatorParams params;
  params.name = config.settings.name.empty() ? std::string(kWorldGroup) : config.settings.name;
  HCCL_RETURN_IF_ERROR(checkNameFree(params.name, table->rank, kOp));
  JoinOptions options;
  options.group = params.name;
  options.environment = &environment;
  HCCL_ASSIGN_OR_RETURN(params.cluster,
                        joinByTable(table->cluster, table->rank, mine, agreedFacts(config.settings),
                                    Deadline::after(environment.connectTimeoutSec), options));
  // End points are made anew for each job, so jobs with one table never take each other's links.
  std::string identity = "hccl world " + params.name + "\n" + params.cluster.canonicalText();
  for (const RankInfo& rank : params.cluster.ranks) identity += "\n" + rank.endpoint;
  params.secret = std::string(bootstrap::view(bootstrap::sha256(identity)));
  params.rank = table->rank;
  params.device = device;
  params.settings = config.settings;
  HCCL_ASSIGN_OR_RETURN(const HcclComm handle, openAndRegister(std::move(params), config, kOp));
  reservation.keep(handle);
  HCCL_RUN_INFO(
      "[HCCL_TRACE]HcclCommInitClusterInfo success, take time [{}]us, rankNum[{}], "
      "rank[{}], deviceLogicId[{}]",
      (monotonicNs() - begin) / 1000, table->cluster.size(), table->rank, device);
  return handle;
}

}  // namespace hccl
