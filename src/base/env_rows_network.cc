// Parse functions of the variables about links, bootstrap and RDMA.
#include <climits>
#include <cstdlib>
#include <memory>

#include "src/base/env_parser.h"

namespace hccl::env_rows {

bool connectTimeout(EnvParser& p) {
  // Ascend starts at 120 s; a host job on one machine wants to know much sooner.
  return number<&Environment::connectTimeoutSec, 1, 7200>(p);
}

bool execTimeout(EnvParser& p) {
  if (!p.isSet) {
    p.logDefault();
    return true;
  }
  if (!parseDecimal(p.value, 2)) {
    p.expect = "a valid number in the specified range";
    return false;
  }
  const auto seconds = parseExecTimeout(p.value);
  if (!seconds) return false;
  p.env.execTimeoutSec = *seconds;
  p.log("set by environment to [{:.2f}]s", *seconds);
  return true;
}

bool intraPcie(EnvParser& p) {
  // The pair is judged, and logged, by the row of HCCL_INTRA_ROCE_ENABLE.
  return !p.isSet || p.value == "0" || p.value == "1";
}

bool intraRoce(EnvParser& p) {
  const auto pcie = p.other("HCCL_INTRA_PCIE_ENABLE");
  if (p.isSet && p.value != "0" && p.value != "1") return false;
  if (pcie == "0" && !p.isSet) {
    p.failedName = "HCCL_INTRA_PCIE_ENABLE";
    p.failedValue = "0";
    return false;
  }
  if (p.isSet && ((p.value == "0" && !pcie) || (p.value == "1" && pcie == "1"))) return false;
  p.env.intraRoce = p.isSet && p.value == "1";
  p.env.intraPcie = !p.env.intraRoce;
  const std::string_view by = p.isSet || pcie ? "environment" : "default";
  p.lines.push_back({false, fmt::format("[HCCL_ENV] HCCL_INTRA_PCIE_ENABLE set by {} to [{}], "
                                        "HCCL_INTRA_ROCE_ENABLE set by {} to [{}]",
                                        by, p.env.intraPcie ? 1 : 0, by, p.env.intraRoce ? 1 : 0)});
  return true;
}

bool whitelistDisable(EnvParser& p) {
  return flag<&Environment::whitelistDisabled>(p);
}

bool whitelistFile(EnvParser& p) {
  if (!p.isSet) {
    if (p.env.whitelistDisabled) return true;
    p.failedValue = "EmptyString";
    p.expect = "a valid file path";
    return false;
  }
  if (p.value[0] != '/' || p.value.size() >= 4096) return false;
  if (p.env.whitelistDisabled) {
    p.logValue();
    return true;
  }
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(p.value.c_str(), nullptr),
                                                         std::free);
  if (!real) {
    p.expect = "a valid file path";
    return false;
  }
  p.env.whitelistFile = real.get();
  p.log("set by environment to [{}], realpath[{}].", p.value, real.get());
  return true;
}

bool ifIp(EnvParser& p) {
  if (!p.isSet) {
    p.log("is not set");
    return true;
  }
  p.env.ifIp = IpAddress::parse(p.value);
  if (!p.env.ifIp) return false;
  p.log("is set to [{}], ip[{}].", p.value, p.env.ifIp->toString());
  return true;
}

bool socketFamily(EnvParser& p) {
  if (!p.isSet) {
    p.log("is not set and is used by default [AF_INET]");
    return true;
  }
  if (p.value != "AF_INET" && p.value != "AF_INET6") return false;
  p.env.socketFamily = p.value == "AF_INET" ? SocketFamily::kInet : SocketFamily::kInet6;
  p.logValue();
  return true;
}

bool socketIfname(EnvParser& p) {
  if (p.isSet) {
    p.env.socketIfname = IfnameFilter::parse(p.value);
    if (!p.env.socketIfname) return false;
  }
  p.logStandard();
  return true;
}

namespace {

bool portRange(EnvParser& p, std::optional<PortRanges>* target) {
  if (!p.isSet) {
    p.warn("is not set. Multi-process will not be supported!");
    return true;
  }
  *target = PortRanges::parse(p.value);
  if (!*target) return false;
  if ((*target)->automatic) p.log("is set to auto.");
  for (const PortRange& range : (*target)->ranges) {
    p.log("is set to {} as [{}, {}].", p.value, range.first, range.last);
  }
  return true;
}

bool cmIp(EnvParser& p, std::optional<IpAddress>* target) {
  if (!p.isSet) return true;
  *target = IpAddress::parse(p.value);
  if (!*target) return false;
  p.logValue();
  return true;
}

}  // namespace

bool hostPortRange(EnvParser& p) {
  return portRange(p, &p.env.hostPortRange);
}
bool npuPortRange(EnvParser& p) {
  return portRange(p, &p.env.npuPortRange);
}

bool logicSuperPodId(EnvParser& p) {
  if (!p.isSet) {
    p.log("is not set, default value[]");
    return true;
  }
  if (p.value.size() >= 128) return false;
  p.env.logicSuperPodId = p.value;
  p.logValue();
  return true;
}

bool cmChiefIp(EnvParser& p) {
  return cmIp(p, &p.env.cm.chiefIp);
}
bool cmWorkerIp(EnvParser& p) {
  return cmIp(p, &p.env.cm.workerIp);
}

bool rdmaFastPost(EnvParser& p) {
  if (p.isSet) {
    const std::string lower = lowerCase(p.value);
    if (lower != "true" && lower != "false") return false;
    p.env.rdmaFastPost = lower == "true";
    p.log("set by environment to [{}], rdmaFastPost is [{}]", p.value, p.env.rdmaFastPost ? 1 : 0);
  } else {
    p.log("set by default to [FALSE], rdmaFastPost is [0]");
  }
  return true;
}

bool qpPortConfigPath(EnvParser& p) {
  if (!p.isSet) {
    p.log("is empty");
    return true;
  }
  auto config = QpPortConfig::load(p.value);
  if (!config) {
    p.failure = config.status();
    return false;
  }
  p.env.qpPorts = std::move(*config);
  p.logValue();
  for (const auto& [pair, ports] : p.env.qpPorts.pairs()) {
    std::string list;
    for (const uint16_t port : ports) list += (list.empty() ? "" : ",") + std::to_string(port);
    p.lines.push_back({false, fmt::format("[HCCL_ENV] MultiQpSrcPort: ipPair[{},{}] -> ports[{}]",
                                          pair.first.toString(), pair.second.toString(), list)});
  }
  return true;
}

namespace {

template <auto Member, uint64_t Low, uint64_t High>
bool queuePairNumber(EnvParser& p) {
  if (!p.isSet) {
    p.log("is set to default value [{}]{}", p.variable.defaultValue, p.variable.unit);
    return true;
  }
  return number<Member, Low, High>(p);
}

}  // namespace

bool qpsPerConnection(EnvParser& p) {
  return queuePairNumber<&Environment::rdmaQpsPerConnection, 1, 32>(p);
}

bool multiQpThreshold(EnvParser& p) {
  return queuePairNumber<&Environment::multiQpThresholdKb, 1, 8192>(p);
}

bool transport(EnvParser& p) {
  if (p.isSet) {
    const auto transports = TransportSet::parse(p.value);
    if (!transports) return false;
    p.env.transports = *transports;
  }
  p.logStandard();
  return true;
}

bool rdmaFlagPolling(EnvParser& p) {
  if (p.isSet && p.value != "none") {
    for (const std::string_view name : splitText(p.value, ',')) {
      const auto isLegal = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
      if (name.empty() || !std::all_of(name.begin(), name.end(), isLegal)) return false;
      p.env.rdmaFlagPolling.emplace_back(name);
    }
  }
  p.logStandard();
  return true;
}

}  // namespace hccl::env_rows
