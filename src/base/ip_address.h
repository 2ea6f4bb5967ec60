// IpAddress and SocketAddress: IPv4 and IPv6 as values.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hccl {

// An address without a port. `ifname` names the interface it belongs to when that is known (the
// scope of an IPv6 link-local address, or the "%ifname" of HCCL_IF_IP).
class IpAddress {
 public:
  IpAddress() = default;
  // Accepts "1.2.3.4", "fe80::1", and both with "%ifname". nullopt when it is none of these.
  static std::optional<IpAddress> parse(std::string_view text);
  // The address part of a sockaddr_in or sockaddr_in6; nullopt for other families.
  static std::optional<IpAddress> fromSockaddr(const sockaddr* address);
  static IpAddress any(int family);
  static IpAddress loopback(int family);

  int family() const { return family_; }  // AF_INET, AF_INET6, or AF_UNSPEC when empty
  bool isValid() const { return family_ != AF_UNSPEC; }
  bool isV4() const { return family_ == AF_INET; }
  bool isV6() const { return family_ == AF_INET6; }
  bool isAny() const;
  bool isLoopback() const;
  bool isLinkLocal() const;
  // 4 or 16 bytes in network order.
  const std::array<uint8_t, 16>& bytes() const { return bytes_; }
  const std::string& ifname() const { return ifname_; }
  void setIfname(std::string name) { ifname_ = std::move(name); }
  // Interface index of an IPv6 scope: the one it was received with, else looked up from ifname.
  uint32_t scopeId() const;

  // Without the interface name.
  std::string toString() const;
  // With "%ifname" when one is known.
  std::string toStringWithIfname() const;

  // Family and bytes; the interface is no part of identity.
  bool operator==(const IpAddress& other) const {
    return family_ == other.family_ && bytes_ == other.bytes_;
  }
  bool operator<(const IpAddress& other) const {
    return family_ != other.family_ ? family_ < other.family_ : bytes_ < other.bytes_;
  }

 private:
  int family_ = AF_UNSPEC;
  uint32_t scopeId_ = 0;
  std::array<uint8_t, 16> bytes_{};
  std::string ifname_;
};

struct SocketAddress {
  IpAddress ip;
  uint16_t port = 0;

  // "1.2.3.4:60000" or "[fe80::1%eth0]:60000".
  std::string toString() const;
  // Fills `storage`; returns the length that bind() and connect() want, 0 when the address is
  // empty.
  socklen_t toSockaddr(sockaddr_storage* storage) const;
  static std::optional<SocketAddress> fromSockaddr(const sockaddr* address);
  bool operator==(const SocketAddress& other) const = default;
};

}  // namespace hccl
