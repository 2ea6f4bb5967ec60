#include "src/bootstrap/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <string>

namespace hccl::bootstrap {
namespace {

const unsigned char* bytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Result<Digest> randomDigest() {
  Digest digest;
  if (RAND_bytes(digest.data(), static_cast<int>(digest.size())) != 1) {
    return Status(HCCL_E_SYSCALL, "the system gives no random numbers");
  }
  return digest;
}

Digest sha256(std::string_view bytes) {
  Digest digest;
  SHA256(bytesOf(bytes), bytes.size(), digest.data());
  return digest;
}

Digest hmac(const Digest& key, std::initializer_list<std::string_view> parts) {
  std::string message;
  for (const std::string_view part : parts) message += part;
  Digest digest{};
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytesOf(message), message.size(),
       digest.data(), &length);
  return digest;
}

bool isEqual(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace hccl::bootstrap
