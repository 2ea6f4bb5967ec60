// The files that variables name: MultiQpSrcPort.cfg and the white list.
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "src/base/env_parser.h"
#include "src/base/env_types.h"

namespace hccl {
namespace {

constexpr size_t kMaxPathLength = 4096;
constexpr size_t kMaxQpLines = 131072;
constexpr size_t kMaxQpPorts = 32;
constexpr std::string_view kQpVariable = "HCCL_RDMA_QP_PORT_CONFIG_PATH";
constexpr std::string_view kWhitelistVariable = "HCCL_WHITELIST_FILE";

std::optional<std::string> readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream content;
  content << file.rdbuf();
  if (!file && !file.eof()) return std::nullopt;
  return content.str();
}

// The source ports of RoCE v2, which a queue pair's flow label reaches.
constexpr uint16_t kFirstQpPort = 49152;

// "p0,p1,...": 1..32 of them.
std::optional<std::vector<uint16_t>> parsePorts(std::string_view text) {
  std::vector<uint16_t> ports;
  for (const std::string_view item : splitText(text, ',')) {
    const auto port = parseUnsigned(item, kFirstQpPort, 65535);
    if (!port || ports.size() == kMaxQpPorts) return std::nullopt;
    ports.push_back(static_cast<uint16_t>(*port));
  }
  return ports;
}

bool readAddresses(const nlohmann::json& object, const char* key, std::set<IpAddress>* out) {
  const auto list = object.find(key);
  if (list == object.end()) return true;
  if (!list->is_array()) return false;
  for (const auto& item : *list) {
    if (!item.is_string()) return false;
    const auto ip = IpAddress::parse(item.get<std::string>());
    if (!ip) return false;
    out->insert(*ip);
  }
  return true;
}

}  // namespace

Result<QpPortConfig> QpPortConfig::load(const std::string& directory) {
  const std::string path = directory + "/MultiQpSrcPort.cfg";
  const auto content = path.size() > kMaxPathLength ? std::nullopt : readFile(path);
  if (!content) return invalidEnvironment(directory, kQpVariable, "a valid existing file path");
  return parse(*content, path);
}

Result<QpPortConfig> QpPortConfig::parse(std::string_view content, std::string_view origin) {
  QpPortConfig config;
  size_t number = 0;
  for (const std::string_view raw : splitText(content, '\n')) {
    ++number;
    const std::string line = withoutSpaces(raw);
    if (line.empty() || line[0] == '#') continue;
    const auto wrong = [&](std::string_view expect) {
      return invalidEnvironment(fmt::format("{} (line {} of {})", line, number, origin),
                                kQpVariable, expect);
    };
    if (number > kMaxQpLines) return wrong("a file of at most 131072 lines");
    const size_t comma = line.find(',');
    const size_t equals = line.find('=');
    if (comma == std::string::npos || equals == std::string::npos || comma > equals) {
      return wrong("a line of the form srcIP,dstIP=port0,port1,...");
    }
    const auto source = IpAddress::parse(line.substr(0, comma));
    const auto destination = IpAddress::parse(line.substr(comma + 1, equals - comma - 1));
    if (!source || !destination) return wrong("a valid IP address");
    auto ports = parsePorts(line.substr(equals + 1));
    if (!ports) return wrong("1 to 32 ports in the range [49152, 65535]");
    if (!config.pairs_.try_emplace({*source, *destination}, std::move(*ports)).second) {
      return wrong("an address pair that occurs once");
    }
  }
  return config;
}

const std::vector<uint16_t>* QpPortConfig::find(const IpAddress& source,
                                                const IpAddress& destination) const {
  if (pairs_.empty()) return nullptr;
  const auto sourceForms = {source, IpAddress::any(AF_INET), IpAddress::any(AF_INET6)};
  const auto destinationForms = {destination, IpAddress::any(AF_INET), IpAddress::any(AF_INET6)};
  for (const IpAddress& from : sourceForms) {
    for (const IpAddress& to : destinationForms) {
      const auto found = pairs_.find({from, to});
      if (found != pairs_.end()) return &found->second;
    }
  }
  return nullptr;
}

Result<Whitelist> Whitelist::parse(std::string_view json) {
  const auto root = nlohmann::json::parse(json, nullptr, false);
  Whitelist list;
  if (root.is_object() && readAddresses(root, "host_ip", &list.hostIps) &&
      readAddresses(root, "device_ip", &list.deviceIps)) {
    return list;
  }
  return Status(HCCL_E_PARA, "the white list is not a JSON object with lists of IP addresses");
}

Result<Whitelist> loadWhitelist(const std::string& path) {
  const auto content = readFile(path);
  if (!content) return invalidEnvironment(path, kWhitelistVariable, "a valid file path");
  auto list = Whitelist::parse(*content);
  if (!list) {
    return invalidEnvironment(
        path, kWhitelistVariable,
        R"(a JSON file of the form {"host_ip":["ip",...],"device_ip":["ip",...]})");
  }
  return list;
}

}  // namespace hccl
