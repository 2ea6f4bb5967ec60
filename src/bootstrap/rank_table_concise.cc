// Rank tables of version 1.0 (plain servers) and 1.2 (super-pods).
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "src/base/log.h"
#include "src/bootstrap/rank_table_fields.h"
#include "src/fault/ei_errors.h"

namespace hccl::ranktable {
namespace {

class ConciseParser {
 public:
  ConciseParser(bool withSuperPods, const RankTableOptions& options)
      : withSuperPods_(withSuperPods), options_(options) {}

  Result<Parsed> parse(const Json& root) {
    const Fields top(root);
    HCCL_ASSIGN_OR_RETURN(const Json* servers, top.array("server_list"));
    HCCL_RETURN_IF_ERROR(checkServerCount(top, servers->size()));
    serverCount_ = servers->size();
    if (withSuperPods_ && top.has("super_pod_list")) {
      HCCL_RETURN_IF_ERROR(parseSuperPods(top));
    }
    int index = 0;
    for (const Json& server : *servers) HCCL_RETURN_IF_ERROR(parseServer(server, index++));
    HCCL_RETURN_IF_ERROR(checkSuperPods());
    HCCL_RETURN_IF_ERROR(checkAddresses());
    HCCL_RETURN_IF_ERROR(deployNics());
    return std::move(parsed_);
  }

 private:
  static Status checkServerCount(const Fields& top, size_t listed) {
    HCCL_ASSIGN_OR_RETURN(const auto text, top.optionalText("server_count"));
    if (!text) {
      HCCL_WARNING(
          "[InitGroupStage][RanktableCheck] server_count is not set, the length of "
          "server_list [{}] is used",
          listed);
      return Status::ok();
    }
    const std::optional<uint32_t> count = parseDecimal(*text);
    if (!count || *count == 0) return valueError(*text, "server_count", "is a positive integer");
    if (*count != listed) return valueError(*text, "server_count", std::to_string(listed));
    return Status::ok();
  }

  Status parseSuperPods(const Fields& top) {
    HCCL_ASSIGN_OR_RETURN(const Json* pods, top.array("super_pod_list"));
    int podIndex = 0;
    for (const Json& pod : *pods) {
      const Fields fields(pod, podIndex++);
      HCCL_ASSIGN_OR_RETURN(const std::string id, fields.text("super_pod_id"));
      HCCL_RETURN_IF_ERROR(checkName("super_pod_id", id));
      HCCL_RETURN_IF_ERROR(pool_.add("super_pod_id", id));
      HCCL_ASSIGN_OR_RETURN(const Json* servers, fields.array("server_list"));
      int serverIndex = 0;
      for (const Json& server : *servers) {
        HCCL_ASSIGN_OR_RETURN(const std::string name,
                              Fields(server, serverIndex++).text("server_id"));
        if (!podOfServer_.try_emplace(name, id).second) {
          return valueError(name, "server_id", "a server that is in one super-pod only");
        }
      }
    }
    podCount_ = pods->size();
    return Status::ok();
  }

  Status parseServer(const Json& server, int index) {
    const Fields fields(server, index);
    HCCL_ASSIGN_OR_RETURN(const std::string id, fields.text("server_id"));
    HCCL_RETURN_IF_ERROR(checkName("server_id", id, 64));
    HCCL_RETURN_IF_ERROR(pool_.add("server_id", id));
    RankInfo base;
    base.serverId = id;
    HCCL_ASSIGN_OR_RETURN(const auto hostIp, fields.optionalText("host_ip"));
    if (hostIp && !hostIp->empty()) {
      HCCL_RETURN_IF_ERROR(checkedIp(*hostIp).status());
      base.hostIp = *hostIp;
    }
    if (podCount_ > 0) {
      const auto pod = podOfServer_.find(id);
      if (pod == podOfServer_.end()) {
        return valueError(id, "server_id", "a server that super_pod_list names");
      }
      base.superPodId = pod->second;
    }
    HCCL_ASSIGN_OR_RETURN(const Json* devices, fields.array("device"));
    int deviceIndex = 0;
    for (const Json& device : *devices) {
      HCCL_RETURN_IF_ERROR(parseDevice(Fields(device, deviceIndex++), base));
    }
    return Status::ok();
  }

  Status parseDevice(const Fields& fields, RankInfo info) {
    HCCL_ASSIGN_OR_RETURN(info.deviceId, fields.decimal("device_id", kNonNegative));
    if (info.deviceId >= options_.deviceLimit) {
      return valueError(std::to_string(info.deviceId), "device_id",
                        fmt::format("[0, {}]", options_.deviceLimit - 1));
    }
    HCCL_ASSIGN_OR_RETURN(info.rank, fields.decimal("rank_id", kNonNegative));
    HCCL_RETURN_IF_ERROR(parseDeviceIps(fields, &info));
    HCCL_RETURN_IF_ERROR(parsePort(fields, "device_port", &info.devicePort));
    uint16_t unused = 0;
    HCCL_RETURN_IF_ERROR(parsePort(fields, "device_vnic_port", &unused));
    HCCL_RETURN_IF_ERROR(parsePort(fields, "host_port", &info.hostPort));
    HCCL_RETURN_IF_ERROR(checkBackup(fields, info));
    HCCL_RETURN_IF_ERROR(parseNic(fields, &info));
    if (withSuperPods_) {
      HCCL_ASSIGN_OR_RETURN(const auto id, fields.optionalText("super_device_id"));
      if (id) HCCL_RETURN_IF_ERROR(checkSuperDevice(*id, info));
      info.superDeviceId = id.value_or("");
    }
    parsed_.cluster.ranks.push_back(std::move(info));
    return Status::ok();
  }

  Status parseDeviceIps(const Fields& fields, RankInfo* info) {
    HCCL_ASSIGN_OR_RETURN(const auto list, fields.optionalText("device_ip"));
    if (!list || list->empty()) return Status::ok();
    for (size_t begin = 0; begin <= list->size();) {
      const size_t comma = std::min(list->find(',', begin), list->size());
      const std::string ip = list->substr(begin, comma - begin);
      HCCL_RETURN_IF_ERROR(checkedIp(ip).status());
      HCCL_RETURN_IF_ERROR(pool_.add("device_ip", ip));
      info->deviceIps.push_back(ip);
      begin = comma + 1;
    }
    return Status::ok();
  }

  static Status parsePort(const Fields& fields, std::string_view key, uint16_t* port) {
    HCCL_ASSIGN_OR_RETURN(const auto text, fields.optionalText(key));
    if (!text) return Status::ok();
    HCCL_ASSIGN_OR_RETURN(*port, checkedPort(key, *text));
    return Status::ok();
  }

  Status checkBackup(const Fields& fields, const RankInfo& info) {
    HCCL_ASSIGN_OR_RETURN(const auto ip, fields.optionalText("backup_device_ip"));
    uint16_t unused = 0;
    HCCL_RETURN_IF_ERROR(parsePort(fields, "backup_device_port", &unused));
    if (!ip || ip->empty()) return Status::ok();
    HCCL_RETURN_IF_ERROR(checkedIp(*ip).status());
    for (const std::string& own : info.deviceIps) {
      if (own == *ip) return valueError(*ip, "backup_device_ip", "the address of another device");
    }
    return pool_.add("backup_device_ip", *ip);
  }

  static Status parseNic(const Fields& fields, RankInfo* info) {
    HCCL_ASSIGN_OR_RETURN(const auto position, fields.optionalText("net_position"));
    info->hostNic = position.value_or("") == "host";
    HCCL_ASSIGN_OR_RETURN(const auto protocol, fields.optionalText("net_protocol"));
    const std::string wanted = protocol.value_or("rdma");
    if (wanted != "rdma" && wanted != "tcp") {
      return valueError(wanted, "net_protocol", "rdma or tcp");
    }
    info->protocol = protocol.value_or("");
    return Status::ok();
  }

  Status checkSuperDevice(const std::string& id, const RankInfo& info) {
    const std::optional<uint32_t> number = parseDecimal(id);
    if (!number) return valueError(id, "super_device_id", "a valid non-negative integer");
    if (info.superPodId.empty()) return Status::ok();
    if (superDevices_[info.superPodId].insert(*number).second) return Status::ok();
    return valueError(id, "super_device_id",
                      fmt::format("is unique in super-pod {}", shortened(info.superPodId)));
  }

  Status checkSuperPods() const {
    if (podCount_ == 0 || podOfServer_.size() == serverCount_) return Status::ok();
    // Every listed server has a pod, so super_pod_list names one that does not exist.
    return countError(podOfServer_.size(), "super_pod_list", serverCount_);
  }

  Status checkAddresses() const {
    const bool onePod = podCount_ == 1;
    const bool needed = options_.intraRoce || (serverCount_ > 1 && !onePod);
    size_t expected = parsed_.cluster.ranks.front().deviceIps.size();
    for (const RankInfo& info : parsed_.cluster.ranks) {
      if (needed && info.deviceIps.empty() && info.hostIp.empty()) {
        return valueError("", "device_ip", "a valid IP address", HCCL_E_PARA,
                          "'device_ip' is not set correctly, must be set when multi Server or "
                          "HCCL_INTRA_ROCE_ENABLE enabled");
      }
      if (info.deviceIps.size() != expected) {
        return valueError(std::to_string(info.deviceIps.size()), "device_ip",
                          fmt::format("{} addresses, as on the other ranks", expected));
      }
    }
    return Status::ok();
  }

  // HCCL deploys the host's card when rank 0 has a host_ip and no device_ip.
  Status deployNics() {
    std::vector<RankInfo>& ranks = parsed_.cluster.ranks;
    const auto first = std::find_if(ranks.begin(), ranks.end(),
                                    [](const RankInfo& info) { return info.rank == 0; });
    if (first == ranks.end() || first->hostIp.empty() || !first->deviceIps.empty()) {
      return Status::ok();
    }
    for (const RankInfo& info : ranks) {
      if (info.hostIp.empty()) {
        return valueError("", "host_ip", "a valid IP address", HCCL_E_PARA,
                          "hostIp config bettewn ranks is different.");
      }
    }
    for (RankInfo& info : ranks) info.hostNic = true;
    return Status::ok();
  }

  static constexpr std::string_view kNonNegative = "is a non-negative integer.";

  const bool withSuperPods_;
  const RankTableOptions& options_;
  UniquePool pool_;
  Parsed parsed_;
  size_t serverCount_ = 0;
  size_t podCount_ = 0;
  std::map<std::string, std::string> podOfServer_;
  std::map<std::string, std::set<uint32_t>> superDevices_;
};

}  // namespace

Result<Parsed> parseConcise(const Json& root, const std::string& version,
                            const RankTableOptions& options) {
  auto parsed = ConciseParser(version == "1.2", options).parse(root);
  if (parsed) parsed->cluster.version = version;
  return parsed;
}

}  // namespace hccl::ranktable
