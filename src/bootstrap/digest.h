// Digests for the rendezvous (OpenSSL's libcrypto behind a few plain functions).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "src/base/status.h"

namespace hccl::bootstrap {

using Digest = std::array<uint8_t, 32>;

inline std::string_view view(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// 32 bytes from the system's generator. Errors: HCCL_E_SYSCALL.
Result<Digest> randomDigest();
Digest sha256(std::string_view bytes);
// HMAC-SHA256 over the parts one after the other.
Digest hmac(const Digest& key, std::initializer_list<std::string_view> parts);
// In constant time.
bool isEqual(std::string_view a, std::string_view b);

}  // namespace hccl::bootstrap
