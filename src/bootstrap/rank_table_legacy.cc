// Rank tables without a version: the cloud form (pods) and the lab form (deploy_mode).
#include <fmt/core.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "src/bootstrap/rank_table_fields.h"
#include "src/fault/ei_errors.h"

namespace hccl::ranktable {
namespace {

constexpr std::string_view kNonNegative = "is a non-negative integer.";

class LegacyParser {
 public:
  LegacyParser(bool isLab, const RankTableOptions& options) : isLab_(isLab), options_(options) {}

  Result<Parsed> parse(const Json& root) {
    const Fields top(root);
    if (isLab_) HCCL_RETURN_IF_ERROR(checkPlanes(top));
    HCCL_ASSIGN_OR_RETURN(const Json* groups, top.array("group_list"));
    HCCL_ASSIGN_OR_RETURN(const auto count, top.optionalText("group_count"));
    if (!count && !isLab_) return top.text("group_count").status();
    if (count) HCCL_RETURN_IF_ERROR(checkCount(*count, "group_count", groups->size()));
    int index = 0;
    for (const Json& group : *groups) HCCL_RETURN_IF_ERROR(parseGroup(Fields(group, index++)));
    if (isLab_) HCCL_RETURN_IF_ERROR(checkServerSizes());
    return std::move(parsed_);
  }

 private:
  static Status checkPlanes(const Fields& top) {
    HCCL_RETURN_IF_ERROR(top.text("deploy_mode").status());
    HCCL_ASSIGN_OR_RETURN(const std::string location, top.text("para_plane_nic_location"));
    if (location != "device") return valueError(location, "para_plane_nic_location", "device");
    HCCL_ASSIGN_OR_RETURN(const uint32_t planes, top.decimal("para_plane_nic_num", kNonNegative));
    HCCL_ASSIGN_OR_RETURN(const Json* names, top.array("para_plane_nic_name"));
    if (names->size() != planes) return countError(planes, "para_plane_nic_num", names->size());
    return Status::ok();
  }

  static Status checkCount(const std::string& text, std::string_view key, size_t actual) {
    const std::optional<uint32_t> count = parseDecimal(text);
    if (count && *count == actual) return Status::ok();
    return valueError(text, key, std::to_string(actual));
  }

  Status parseGroup(const Fields& fields) {
    HCCL_ASSIGN_OR_RETURN(const std::string name, fields.text("group_name"));
    HCCL_RETURN_IF_ERROR(checkName("group_name", name));
    HCCL_RETURN_IF_ERROR(pool_.add("group_name", name));
    HCCL_ASSIGN_OR_RETURN(const Json* instances, fields.array("instance_list"));
    HCCL_ASSIGN_OR_RETURN(const std::string instanceCount, fields.text("instance_count"));
    HCCL_RETURN_IF_ERROR(checkCount(instanceCount, "instance_count", instances->size()));
    const size_t ranksBefore = parsed_.cluster.ranks.size();
    std::set<std::string> servers;
    int index = 0;
    for (const Json& instance : *instances) {
      HCCL_RETURN_IF_ERROR(parseInstance(Fields(instance, index++), &servers));
    }
    const size_t devices = parsed_.cluster.ranks.size() - ranksBefore;
    const bool newName = !isLab_ && fields.has("device_count");
    const std::string_view key = newName ? "device_count" : "device_num";
    HCCL_ASSIGN_OR_RETURN(const std::string deviceCount, fields.text(key));
    HCCL_RETURN_IF_ERROR(checkCount(deviceCount, key, devices));
    if (!isLab_) return Status::ok();
    HCCL_ASSIGN_OR_RETURN(const std::string serverCount, fields.text("server_num"));
    return checkCount(serverCount, "server_num", servers.size());
  }

  Status parseInstance(const Fields& fields, std::set<std::string>* servers) {
    HCCL_ASSIGN_OR_RETURN(const std::string server, fields.text("server_id"));
    HCCL_RETURN_IF_ERROR(checkName("server_id", server, 64));
    servers->insert(server);
    std::set<uint32_t>* pod = nullptr;
    auto rank = static_cast<uint32_t>(parsed_.cluster.ranks.size());
    if (isLab_) {
      HCCL_ASSIGN_OR_RETURN(rank, fields.decimal("rank_id", kNonNegative));
    } else {
      HCCL_ASSIGN_OR_RETURN(const std::string name, fields.text("pod_name"));
      HCCL_RETURN_IF_ERROR(checkName("pod_name", name));
      HCCL_RETURN_IF_ERROR(pool_.add("pod_name", name));
      pod = &parsed_.podRanks[name];
    }
    HCCL_ASSIGN_OR_RETURN(const Json* devices, fields.array("devices"));
    int index = 0;
    for (const Json& device : *devices) {
      if (pod != nullptr) pod->insert(rank);
      HCCL_RETURN_IF_ERROR(parseDevice(Fields(device, index++), server, rank++));
    }
    return Status::ok();
  }

  Status parseDevice(const Fields& fields, const std::string& server, uint32_t rank) {
    RankInfo info;
    info.rank = rank;
    info.serverId = server;
    HCCL_ASSIGN_OR_RETURN(info.deviceId, fields.decimal("device_id", kNonNegative));
    if (info.deviceId >= options_.deviceLimit) {
      return valueError(std::to_string(info.deviceId), "device_id",
                        fmt::format("[0, {}]", options_.deviceLimit - 1));
    }
    HCCL_ASSIGN_OR_RETURN(const auto ip, fields.optionalText("device_ip"));
    if (ip && !ip->empty()) {
      HCCL_RETURN_IF_ERROR(checkedIp(*ip).status());
      HCCL_RETURN_IF_ERROR(pool_.add("device_ip", *ip));
      info.deviceIps.push_back(*ip);
    }
    parsed_.cluster.ranks.push_back(std::move(info));
    return Status::ok();
  }

  Status checkServerSizes() const {
    std::map<std::string, size_t> sizes;
    for (const RankInfo& info : parsed_.cluster.ranks) ++sizes[info.serverId];
    constexpr std::array<size_t, 5> kAllowed{1, 2, 4, 8, 16};
    for (const auto& [server, size] : sizes) {
      bool isAllowed = size == sizes.begin()->second;
      isAllowed = isAllowed && std::find(kAllowed.begin(), kAllowed.end(), size) != kAllowed.end();
      if (!isAllowed) {
        return valueError(std::to_string(size), "device_num",
                          "1, 2, 4, 8 or 16 devices, equal on every server");
      }
    }
    return Status::ok();
  }

  const bool isLab_;
  const RankTableOptions& options_;
  UniquePool pool_;
  Parsed parsed_;
};

}  // namespace

Result<Parsed> parseLegacy(const Json& root, const RankTableOptions& options) {
  return LegacyParser(Fields(root).has("deploy_mode"), options).parse(root);
}

}  // namespace hccl::ranktable
