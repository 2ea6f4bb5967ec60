// HcclRootInfo: the handle by which ranks find the root, and the server thread behind it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "hccl/hccl_types.h"
#include "src/base/ip_address.h"
#include "src/base/status.h"

namespace hccl {

struct Environment;

// Version of what the rendezvous sends. Raised with every change that an older library could not
// read.
inline constexpr uint32_t kBootstrapVersion = 1;

using RootSecret = std::array<uint8_t, 32>;

enum class NicDeploy : uint32_t { kHost = 0, kDevice = 1 };

// The content of an HcclRootInfo.
struct RootHandle {
  SocketAddress address;  // of the server
  NicDeploy nicDeploy = NicDeploy::kHost;
  std::string identifier;  // "<ip[%ifname]>_<port>_<physical device id>_<time stamp in us>"
  uint32_t rankId = 0;
  uint32_t version = kBootstrapVersion;
  RootSecret secret{};  // random; proves membership; never sent and never logged

  // "host ip[..] port[..] nicDeploy[..] identifier[..]": without the secret.
  std::string toString() const;
};

HcclRootInfo encodeRootInfo(const RootHandle& handle);
// Errors: HCCL_E_PARA (not made by HcclGetRootInfo), EI0008 (another library version made it).
Result<RootHandle> decodeRootInfo(const HcclRootInfo& info);

struct RootOptions {
  uint32_t deviceId = 0;                     // physical id of the caller's current device
  const Environment* environment = nullptr;  // nullptr: environment()
  double timeoutSeconds = 0;                 // 0: HCCL_CONNECT_TIMEOUT
};

// Chooses host address and port, listens, starts the server thread and returns at once. The server
// ends by itself when its ranks have their answer or when the time is over; several may live at a
// time. Errors: EI0001 (NIC), EI0019 with HCCL_E_UNAVAIL (port).
Result<HcclRootInfo> startRoot(const RootOptions& options);

// Whether the server at `address` is still at work (tests, diagnosis).
bool isRootLive(const SocketAddress& address);

}  // namespace hccl
