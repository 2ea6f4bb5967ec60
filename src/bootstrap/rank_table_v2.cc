// Rank tables of version 2.0: ranks with layers of addresses.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "src/bootstrap/rank_table_fields.h"
#include "src/fault/ei_errors.h"

namespace hccl::ranktable {
namespace {

constexpr uint32_t kMaxRanks = 65536;
constexpr uint32_t kBackupLocalId = 64;
constexpr size_t kMaxLayers = 8;
constexpr size_t kMaxAddresses = 24;
constexpr size_t kMaxName = 1024;

class Version2Parser {
 public:
  Result<Parsed> parse(const Json& root) {
    const Fields top(root);
    HCCL_ASSIGN_OR_RETURN(const uint32_t count, top.integer("rank_count", 1, kMaxRanks));
    HCCL_ASSIGN_OR_RETURN(const Json* ranks, top.array("rank_list"));
    if (ranks->size() != count) return countError(count, "rankCount", ranks->size());
    taken_.assign(count, false);
    int index = 0;
    for (const Json& rank : *ranks) HCCL_RETURN_IF_ERROR(parseRank(Fields(rank, index++), count));
    parsed_.cluster.version = "2.0";
    return std::move(parsed_);
  }

 private:
  Status parseRank(const Fields& fields, uint32_t count) {
    RankInfo info;
    HCCL_ASSIGN_OR_RETURN(info.rank, fields.integer("rank_id", 0, UINT32_MAX));
    if (info.rank >= count) {
      return valueError(std::to_string(info.rank), "rank_id",
                        fmt::format("[0,{}), rank_id is continuous", count));
    }
    if (taken_[info.rank]) {
      return valueError(std::to_string(info.rank), "rank_id", "rank_id is not repeat");
    }
    taken_[info.rank] = true;
    HCCL_RETURN_IF_ERROR(checkLocalId(fields));
    HCCL_ASSIGN_OR_RETURN(info.deviceId, fields.integer("device_id", 0, 64));
    HCCL_ASSIGN_OR_RETURN(const auto devicePort, fields.optionalInteger("device_port", 1, 65535));
    HCCL_ASSIGN_OR_RETURN(const auto hostPort, fields.optionalInteger("host_port", 1, 65535));
    info.devicePort = static_cast<uint16_t>(devicePort.value_or(0));
    info.hostPort = static_cast<uint16_t>(hostPort.value_or(0));
    HCCL_RETURN_IF_ERROR(parseLayers(fields, &info));
    parsed_.cluster.ranks.push_back(std::move(info));
    return Status::ok();
  }

  Status checkLocalId(const Fields& fields) {
    HCCL_ASSIGN_OR_RETURN(const uint32_t local, fields.integer("local_id", 0, kBackupLocalId));
    if (local != kBackupLocalId) return Status::ok();
    if (++backups_ > 1) {
      return valueError("64", "local_id", "one backup rank at most");
    }
    return fields.integer("replaced_local_id", 0, kBackupLocalId - 1).status();
  }

  Status parseLayers(const Fields& fields, RankInfo* info) {
    HCCL_ASSIGN_OR_RETURN(const Json* levels, fields.array("level_list"));
    if (levels->size() > kMaxLayers) return countError(levels->size(), "level_list", kMaxLayers);
    int index = 0;
    for (const Json& level : *levels) {
      HCCL_RETURN_IF_ERROR(parseLayer(Fields(level, index++), info));
    }
    info->serverId = info->layers.front().instanceId;
    if (info->layers.size() > 1) info->superPodId = info->layers[1].instanceId;
    return Status::ok();
  }

  Status parseLayer(const Fields& fields, RankInfo* info) {
    RankLayer layer;
    HCCL_ASSIGN_OR_RETURN(layer.layer, fields.integer("net_layer", 0, 7));
    if (!info->layers.empty() && info->layers.back().layer >= layer.layer) {
      return valueError(std::to_string(layer.layer), "net_layer", "strictly increasing layers");
    }
    HCCL_ASSIGN_OR_RETURN(layer.instanceId, fields.text("net_instance_id"));
    HCCL_RETURN_IF_ERROR(checkName("net_instance_id", layer.instanceId, kMaxName));
    HCCL_ASSIGN_OR_RETURN(layer.type, fields.text("net_type"));
    constexpr std::array<std::string_view, 6> kTypes{"TOPO_FILE_DESC", "CLOS",      "1DMESH",
                                                     "2DMESH",         "A3_SERVER", "A2_AX_SERVER"};
    if (std::find(kTypes.begin(), kTypes.end(), layer.type) == kTypes.end()) {
      return valueError(layer.type, "net_type", "TOPO_FILE_DESC or CLOS");
    }
    HCCL_RETURN_IF_ERROR(fields.optionalText("net_attr").status());
    info->layers.push_back(std::move(layer));
    HCCL_ASSIGN_OR_RETURN(const Json* addresses, fields.optionalArray("rank_addr_list"));
    if (addresses == nullptr) return Status::ok();
    if (addresses->size() > kMaxAddresses) {
      return countError(addresses->size(), "rank_addr_list", kMaxAddresses);
    }
    std::vector<std::string> ips;
    int index = 0;
    for (const Json& address : *addresses) {
      HCCL_RETURN_IF_ERROR(parseAddress(Fields(address, index++), &ips));
    }
    // The outermost layer reaches the most ranks: its addresses stand for the rank.
    if (!ips.empty()) info->deviceIps = std::move(ips);
    return Status::ok();
  }

  static Status checkAddress(const std::string& type, const std::string& text) {
    if (text.empty()) {
      return valueError(text, "addr", "addr is required and should not be empty");
    }
    if (type == "EID") return Status::ok();
    const std::optional<IpAddress> ip = IpAddress::parse(text);
    if (!ip || ip->isV4() != (type == "IPV4")) return valueError(text, "addr", "A ip address");
    return Status::ok();
  }

  static Status parseAddress(const Fields& fields, std::vector<std::string>* ips) {
    HCCL_ASSIGN_OR_RETURN(const std::string type, fields.text("addr_type"));
    if (type != "EID" && type != "IPV4" && type != "IPV6") {
      return valueError(type, "addr_type", "EID, IPV4 or IPV6");
    }
    HCCL_ASSIGN_OR_RETURN(const std::string address, fields.text("addr"));
    HCCL_RETURN_IF_ERROR(checkAddress(type, address));
    HCCL_ASSIGN_OR_RETURN(const auto backup, fields.optionalText("backup_addr"));
    if (backup) HCCL_RETURN_IF_ERROR(checkAddress(type, *backup));
    HCCL_ASSIGN_OR_RETURN(const Json* ports, fields.optionalArray("ports"));
    if (ports != nullptr) {
      for (const Json& port : *ports) {
        if (!port.is_string()) return valueError(port.dump(), "ports", "texts such as 0/3 or d2h");
      }
    }
    HCCL_ASSIGN_OR_RETURN(const auto plane, fields.optionalText("plane_id"));
    if (plane) HCCL_RETURN_IF_ERROR(checkName("plane_id", *plane, kMaxName));
    if (type != "EID") ips->push_back(address);
    return Status::ok();
  }

  Parsed parsed_;
  std::vector<bool> taken_;
  int backups_ = 0;
};

}  // namespace

Result<Parsed> parseVersion2(const Json& root, const RankTableOptions& /*options*/) {
  return Version2Parser().parse(root);
}

}  // namespace hccl::ranktable
