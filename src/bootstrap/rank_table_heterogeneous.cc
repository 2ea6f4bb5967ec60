// Rank tables of version 1.1: host ranks beside device ranks, over tcp or rdma.
#include <fmt/core.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "src/bootstrap/rank_table_fields.h"
#include "src/fault/ei_errors.h"

namespace hccl::ranktable {
namespace {

class HeterogeneousParser {
 public:
  explicit HeterogeneousParser(const RankTableOptions& options) : options_(options) {}

  Result<Parsed> parse(const Json& root) {
    const Fields top(root);
    HCCL_ASSIGN_OR_RETURN(const std::string collective, top.text("collective_id"));
    HCCL_RETURN_IF_ERROR(checkName("collective_id", collective, 127));
    HCCL_ASSIGN_OR_RETURN(const auto mode, top.optionalText("mode"));
    if (mode && *mode != "tcp" && *mode != "rdma") return valueError(*mode, "mode", "tcp or rdma");
    mode_ = mode.value_or("");
    HCCL_ASSIGN_OR_RETURN(const auto sub, top.optionalText("heterog_sub_version"));
    if (sub && *sub != "1.2") return valueError(*sub, "heterog_sub_version", "1.2");
    isSuperPodForm_ = sub.has_value();
    HCCL_ASSIGN_OR_RETURN(const Json* nodes, top.array("node_list"));
    int index = 0;
    for (const Json& node : *nodes) HCCL_RETURN_IF_ERROR(parseNode(Fields(node, index++)));
    parsed_.isHeterogeneous = true;
    parsed_.cluster.version = "1.1";
    return std::move(parsed_);
  }

 private:
  Status parseNode(const Fields& fields) {
    HCCL_ASSIGN_OR_RETURN(const std::string address, fields.text("node_addr"));
    HCCL_RETURN_IF_ERROR(checkedIp(address).status());
    HCCL_RETURN_IF_ERROR(pool_.add("server_id", address));
    HCCL_ASSIGN_OR_RETURN(const Json* ranks, fields.array("ranks"));
    const size_t begin = parsed_.cluster.ranks.size();
    std::set<uint16_t> ports;
    int index = 0;
    for (const Json& rank : *ranks) {
      HCCL_RETURN_IF_ERROR(parseRank(Fields(rank, index), address, static_cast<uint32_t>(index)));
      const uint16_t port = parsed_.cluster.ranks.back().devicePort;
      if (port != 0 && !ports.insert(port).second) {
        return valueError(std::to_string(port), "port", "is unique in a node");
      }
      ++index;
    }
    return assignPorts(begin, &ports);
  }

  Status parseRank(const Fields& fields, const std::string& address, uint32_t position) {
    RankInfo info;
    info.serverId = address;
    info.hostNic = true;
    info.protocol = mode_;
    HCCL_ASSIGN_OR_RETURN(info.rank, fields.decimal("rank_id", "is a non-negative integer."));
    HCCL_ASSIGN_OR_RETURN(const auto deviceText, mandatoryInSuperPods(fields, "device_id"));
    const std::string device = deviceText.value_or("-1");
    if (device == "-1") {
      info.deviceId = position;
      parsed_.hostRanks.insert(info.rank);
    } else {
      const std::optional<uint32_t> id = parseDecimal(device);
      if (!id || *id >= options_.deviceLimit) {
        return valueError(device, "device_id",
                          fmt::format("-1 or [0, {}]", options_.deviceLimit - 1));
      }
      info.deviceId = *id;
    }
    HCCL_ASSIGN_OR_RETURN(const auto port, mandatoryInSuperPods(fields, "port"));
    if (port) {
      HCCL_ASSIGN_OR_RETURN(info.devicePort, checkedPort("port", *port));
    }
    HCCL_ASSIGN_OR_RETURN(const auto ip, fields.optionalText("rank_ip"));
    if (ip) HCCL_RETURN_IF_ERROR(checkedIp(*ip).status());
    info.hostIp = ip.value_or(address);
    HCCL_ASSIGN_OR_RETURN(const auto sdid, mandatoryInSuperPods(fields, "sdid"));
    HCCL_RETURN_IF_ERROR(mandatoryInSuperPods(fields, "bind_device_id").status());
    if (isSuperPodForm_) info.superDeviceId = sdid.value_or("");
    parsed_.cluster.ranks.push_back(std::move(info));
    return Status::ok();
  }

  Result<std::optional<std::string>> mandatoryInSuperPods(const Fields& fields,
                                                          std::string_view key) const {
    if (!isSuperPodForm_) return fields.optionalText(key);
    HCCL_ASSIGN_OR_RETURN(std::string text, fields.text(key));
    return std::optional<std::string>(std::move(text));
  }

  // Ranks without a port: the default port plus the position in the node, past the used ones.
  Status assignPorts(size_t begin, std::set<uint16_t>* ports) {
    for (size_t i = begin; i < parsed_.cluster.ranks.size(); ++i) {
      RankInfo& info = parsed_.cluster.ranks[i];
      if (info.devicePort != 0) continue;
      size_t port = options_.defaultPort + (i - begin);
      while (port <= std::numeric_limits<uint16_t>::max() &&
             ports->count(static_cast<uint16_t>(port)) != 0) {
        ++port;
      }
      if (port > std::numeric_limits<uint16_t>::max()) {
        return valueError(std::to_string(port), "port", "a port number in the range [1, 65535]");
      }
      info.devicePort = static_cast<uint16_t>(port);
      ports->insert(info.devicePort);
    }
    return Status::ok();
  }

  const RankTableOptions& options_;
  std::string mode_;
  bool isSuperPodForm_ = false;
  UniquePool pool_;
  Parsed parsed_;
};

}  // namespace

Result<Parsed> parseHeterogeneous(const Json& root, const RankTableOptions& options) {
  return HeterogeneousParser(options).parse(root);
}

}  // namespace hccl::ranktable
