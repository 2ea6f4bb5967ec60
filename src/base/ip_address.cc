#include "src/base/ip_address.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>

namespace hccl {

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  IpAddress ip;
  std::string address(text);
  if (const size_t percent = address.find('%'); percent != std::string::npos) {
    ip.ifname_ = address.substr(percent + 1);
    address.resize(percent);
    if (ip.ifname_.empty() || ip.ifname_.size() >= IF_NAMESIZE) return std::nullopt;
    if (ip.ifname_.find_first_of("/% \t\n") != std::string::npos) return std::nullopt;
  }
  if (inet_pton(AF_INET, address.c_str(), ip.bytes_.data()) == 1) {
    ip.family_ = AF_INET;
  } else if (inet_pton(AF_INET6, address.c_str(), ip.bytes_.data()) == 1) {
    ip.family_ = AF_INET6;
  } else {
    return std::nullopt;
  }
  return ip;
}

std::optional<IpAddress> IpAddress::fromSockaddr(const sockaddr* address) {
  IpAddress ip;
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof(v4));
    std::memcpy(ip.bytes_.data(), &v4.sin_addr, 4);
  } else if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof(v6));
    std::memcpy(ip.bytes_.data(), &v6.sin6_addr, 16);
    ip.scopeId_ = v6.sin6_scope_id;
    char name[IF_NAMESIZE];
    if (ip.scopeId_ != 0 && if_indextoname(ip.scopeId_, name) != nullptr) ip.ifname_ = name;
  } else {
    return std::nullopt;
  }
  ip.family_ = address->sa_family;
  return ip;
}

IpAddress IpAddress::any(int family) {
  IpAddress ip;
  ip.family_ = family;
  return ip;
}

IpAddress IpAddress::loopback(int family) {
  return *parse(family == AF_INET6 ? "::1" : "127.0.0.1");
}

bool IpAddress::isAny() const {
  return isValid() && std::all_of(bytes_.begin(), bytes_.end(), [](uint8_t b) { return b == 0; });
}

bool IpAddress::isLoopback() const {
  return isV4() ? bytes_[0] == 127 : isV6() && *this == loopback(AF_INET6);
}

bool IpAddress::isLinkLocal() const {
  return isV4() ? bytes_[0] == 169 && bytes_[1] == 254
                : isV6() && bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
}

uint32_t IpAddress::scopeId() const {
  if (scopeId_ != 0 || ifname_.empty() || !isV6()) return scopeId_;
  return if_nametoindex(ifname_.c_str());
}

std::string IpAddress::toString() const {
  if (!isValid()) return "";
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(family_, bytes_.data(), text, sizeof(text));
  return text;
}

std::string IpAddress::toStringWithIfname() const {
  return ifname_.empty() ? toString() : toString() + "%" + ifname_;
}

std::string SocketAddress::toString() const {
  if (ip.isV6()) {
    return fmt::format("[{}]:{}", ip.isLinkLocal() ? ip.toStringWithIfname() : ip.toString(), port);
  }
  return fmt::format("{}:{}", ip.toString(), port);
}

socklen_t SocketAddress::toSockaddr(sockaddr_storage* storage) const {
  std::memset(storage, 0, sizeof(*storage));
  if (ip.isV4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, ip.bytes().data(), 4);
    std::memcpy(storage, &v4, sizeof(v4));
    return sizeof(v4);
  }
  if (ip.isV6()) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, ip.bytes().data(), 16);
    // A scope on a global address would bind the route to that interface: only link-local needs
    // one.
    if (ip.isLinkLocal()) v6.sin6_scope_id = ip.scopeId();
    std::memcpy(storage, &v6, sizeof(v6));
    return sizeof(v6);
  }
  return 0;
}

std::optional<SocketAddress> SocketAddress::fromSockaddr(const sockaddr* address) {
  auto ip = IpAddress::fromSockaddr(address);
  if (!ip) return std::nullopt;
  SocketAddress result{std::move(*ip), 0};
  // sin_port and sin6_port stand at the same offset.
  sockaddr_in head{};
  std::memcpy(&head, address, sizeof(head));
  result.port = ntohs(head.sin_port);
  return result;
}

}  // namespace hccl
