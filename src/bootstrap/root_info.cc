#include "src/bootstrap/root_info.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "src/base/clock.h"
#include "src/base/env.h"
#include "src/base/interfaces.h"
#include "src/bootstrap/ports.h"
#include "src/bootstrap/root_registry.h"
#include "src/fault/ei_errors.h"

namespace hccl {
namespace {

constexpr uint32_t kMagic = 0x4843524F;  // "HCRO"
constexpr size_t kIpBytes = 64;
constexpr size_t kIdentifierBytes = 128;

// The first five fields are those of HCCL's own handle; programs read the IP at offset 0.
struct RawHandle {
  char ip[kIpBytes];
  uint32_t port;
  uint32_t nicDeploy;
  char identifier[kIdentifierBytes];
  uint32_t rankId;
  uint32_t magic;
  uint32_t version;
  uint8_t secret[32];
};
static_assert(sizeof(RawHandle) <= sizeof(HcclRootInfo));

Status notAHandle(std::string_view what) {
  return Status(HCCL_E_PARA,
                fmt::format("the root info was not made by HcclGetRootInfo: {}", what));
}

// A NUL-terminated text; nullopt when the field has no end.
std::optional<std::string> fieldText(const char* field, size_t size) {
  const void* end = std::memchr(field, 0, size);
  if (end == nullptr) return std::nullopt;
  return std::string(field, static_cast<const char*>(end));
}

}  // namespace

std::string RootHandle::toString() const {
  return fmt::format("host ip[{}] port[{}] nicDeploy[{}] identifier[{}]",
                     address.ip.toStringWithIfname(), address.port,
                     static_cast<uint32_t>(nicDeploy), identifier);
}

HcclRootInfo encodeRootInfo(const RootHandle& handle) {
  RawHandle raw{};
  // Only a link-local address is useless without its interface.
  const IpAddress& address = handle.address.ip;
  const std::string ip =
      address.isV6() && address.isLinkLocal() ? address.toStringWithIfname() : address.toString();
  std::memcpy(raw.ip, ip.data(), std::min(ip.size(), kIpBytes - 1));
  raw.port = handle.address.port;
  raw.nicDeploy = static_cast<uint32_t>(handle.nicDeploy);
  std::memcpy(raw.identifier, handle.identifier.data(),
              std::min(handle.identifier.size(), kIdentifierBytes - 1));
  raw.rankId = handle.rankId;
  raw.magic = kMagic;
  raw.version = handle.version;
  std::copy(handle.secret.begin(), handle.secret.end(), raw.secret);
  HcclRootInfo info{};
  std::memcpy(info.internal, &raw, sizeof(raw));
  return info;
}

Result<RootHandle> decodeRootInfo(const HcclRootInfo& info) {
  RawHandle raw;
  std::memcpy(&raw, info.internal, sizeof(raw));
  if (raw.magic != kMagic) return notAHandle("the mark is missing");
  if (raw.version != kBootstrapVersion) {
    return eiError(Ei::kVersion, HCCL_E_INTERNAL,
                   {"HCCL bootstrap", fmt::format("is {}", kBootstrapVersion),
                    fmt::format("(root) is {}", raw.version)});
  }
  const std::optional<std::string> ipText = fieldText(raw.ip, kIpBytes);
  const std::optional<IpAddress> ip = ipText ? IpAddress::parse(*ipText) : std::nullopt;
  if (!ip) return notAHandle("the IP address is not valid");
  if (raw.port == 0 || raw.port > UINT16_MAX) return notAHandle("the port is not valid");
  if (raw.nicDeploy > static_cast<uint32_t>(NicDeploy::kDevice)) {
    return notAHandle("the NIC deployment is not valid");
  }
  std::optional<std::string> identifier = fieldText(raw.identifier, kIdentifierBytes);
  if (!identifier || identifier->empty()) return notAHandle("the identifier is not valid");
  RootHandle handle;
  handle.address = {*ip, static_cast<uint16_t>(raw.port)};
  handle.nicDeploy = static_cast<NicDeploy>(raw.nicDeploy);
  handle.identifier = std::move(*identifier);
  handle.rankId = raw.rankId;
  handle.version = raw.version;
  std::copy(std::begin(raw.secret), std::end(raw.secret), handle.secret.begin());
  return handle;
}

Result<HcclRootInfo> startRoot(const RootOptions& options) {
  const Environment* environmentPtr = options.environment;
  if (environmentPtr == nullptr) {
    HCCL_ASSIGN_OR_RETURN(environmentPtr, environment());
  }
  const Environment& env = *environmentPtr;
  bootstrap::RootServerOptions server;
  if (!env.whitelistDisabled) {
    HCCL_ASSIGN_OR_RETURN(server.whitelist, loadWhitelist(env.whitelistFile));
  }
  HCCL_ASSIGN_OR_RETURN(const HostNic nic, hostNic(env));
  HCCL_ASSIGN_OR_RETURN(const bootstrap::PortChoice ports,
                        bootstrap::rootPorts(env, options.deviceId));
  // A rendezvous that failed keeps its port for ranks that come late; this one comes first.
  if (ports.ports.size() == 1) {
    bootstrap::RootRegistry::instance().stopLingering(nic.ip, ports.ports);
  }
  HCCL_ASSIGN_OR_RETURN(bootstrap::Listener listener, bootstrap::listenOnFirst(nic.ip, ports));
  HCCL_ASSIGN_OR_RETURN(server.secret, bootstrap::randomDigest());

  RootHandle handle;
  handle.address = listener.address;
  handle.secret = server.secret;
  handle.identifier = fmt::format("{}_{}_{}_{}", nic.ip.toStringWithIfname(), listener.address.port,
                                  options.deviceId, wallClockUs());
  server.listener = std::move(listener.fd);
  server.address = listener.address;
  server.version = kBootstrapVersion;
  server.timeoutSeconds =
      options.timeoutSeconds > 0 ? options.timeoutSeconds : env.connectTimeoutSec;
  server.lingerSeconds = server.timeoutSeconds;
  HCCL_RETURN_IF_ERROR(bootstrap::RootRegistry::instance().start(std::move(server)));
  return encodeRootInfo(handle);
}

bool isRootLive(const SocketAddress& address) {
  return bootstrap::RootRegistry::instance().isLive(address);
}

}  // namespace hccl
