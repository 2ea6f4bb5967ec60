#include "transport/card.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "transport/wire.h"

namespace hccl::transport {
namespace {

constexpr size_t kMaxMoreAddresses = 15;

std::string bootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  // Without /proc nothing proves that two processes share a kernel: an id of our own keeps them
  // apart.
  if (!std::getline(file, text) || text.empty()) text = "unknown-" + randomHex(16);
  return text;
}

std::string networkNamespace() {
  struct stat info {};
  if (::stat("/proc/self/ns/net", &info) != 0) return "unknown-" + randomHex(16);
  return fmt::format("{:x}:{}", info.st_dev, info.st_ino);
}

}  // namespace

const ProcessIdentity& processIdentity() {
  static const auto* identity = new ProcessIdentity{randomHex(16), bootId(), networkNamespace()};
  return *identity;
}

std::string Card::toText() const {
  auto addresses = nlohmann::json::array();
  for (const IpAddress& ip : more) addresses.push_back(ip.toString());
  return nlohmann::json{{"wire", wire},     {"process", process},
                        {"boot", boot},     {"network", network},
                        {"lease", lease},   {"unix", unixName},
                        {"device", device}, {"ip", tcp.ip.toStringWithIfname()},
                        {"port", tcp.port}, {"more", addresses},
                        {"usable", usable}, {"processors", processors}}
      .dump();
}

Result<Card> Card::parse(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto broken = [&](std::string_view why) {
    return Status(HCCL_E_PARA, fmt::format("endpoint \"{:.200}\" is broken: {}", text, why));
  };
  if (!json.is_object()) return broken("not a JSON object");
  Card card;
  const auto number = [&](const char* key, auto* value) {
    const auto it = json.find(key);
    if (it == json.end() || !it->is_number_integer()) return false;
    const auto wide = it->get<int64_t>();
    *value = static_cast<std::remove_reference_t<decltype(*value)>>(wide);
    return static_cast<int64_t>(*value) == wide;
  };
  const auto string = [&](const char* key, std::string* value) {
    const auto it = json.find(key);
    if (it == json.end() || !it->is_string()) return false;
    *value = it->get<std::string>();
    return true;
  };
  if (!number("wire", &card.wire)) return broken("no protocol version");
  // Cards of other versions may lack the rest: the version alone is told then.
  if (card.wire != kWireVersion) return card;
  std::string ip;
  if (!number("device", &card.device) || !number("port", &card.tcp.port) ||
      !string("process", &card.process) || !string("boot", &card.boot) ||
      !string("network", &card.network) || !string("lease", &card.lease) ||
      !string("usable", &card.usable) || !number("processors", &card.processors) ||
      !string("unix", &card.unixName) || !string("ip", &ip)) {
    return broken("a member is missing or has the wrong type");
  }
  const auto address = IpAddress::parse(ip);
  if (!address) return broken("no IP address");
  card.tcp.ip = *address;
  const auto more = json.find("more");
  if (more == json.end() || !more->is_array() || more->size() > kMaxMoreAddresses) {
    return broken("no list of further addresses");
  }
  for (const auto& item : *more) {
    const auto further = IpAddress::parse(item.is_string() ? item.get<std::string>() : "");
    if (!further) return broken("a further address is none");
    card.more.push_back(*further);
  }
  return card;
}

Status versionError(uint32_t remote, uint32_t rank) {
  return Status(HCCL_E_NOT_SUPPORT,
                fmt::format("The HCCL wire protocol versions are inconsistent. The local {}, while "
                            "the remote {}.",
                            kWireVersion, remote),
                8, static_cast<int>(rank));
}

Status checkVersion(const Card& card, uint32_t rank) {
  return card.wire == kWireVersion ? Status() : versionError(card.wire, rank);
}

}  // namespace hccl::transport
