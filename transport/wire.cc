#include "transport/wire.h"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <cstdlib>

namespace hccl::transport {
namespace {

void fillRandom(void* data, size_t size) {
  auto* at = static_cast<uint8_t*>(data);
  while (size > 0) {
    const ssize_t got = ::getrandom(at, size, 0);
    if (got <= 0) continue;  // interrupted; the pool itself cannot fail once it is up
    at += got;
    size -= static_cast<size_t>(got);
  }
}

// The process' exit must not take OpenSSL's tables from under the control thread. (When the program
// itself prepared OpenSSL its own wish stands, and a digest fails then rather than crash.)
void prepareOpenSsl() {
  [[maybe_unused]] static const int prepared = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
}

}  // namespace

Digest randomDigest() {
  Digest digest;
  fillRandom(digest.data(), digest.size());
  return digest;
}

std::string randomHex(size_t bytes) {
  std::string raw(bytes, '\0');
  fillRandom(raw.data(), raw.size());
  std::string text;
  for (const char c : raw) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

Digest sha256(std::string_view text) {
  prepareOpenSsl();
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

Digest hmac(const Digest& key, std::string_view text) {
  prepareOpenSsl();
  Digest digest{};
  unsigned int length = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  // A digest that cannot be made must not be guessable: nobody is convinced by it.
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(),
           digest.data(), &length) == nullptr) {
    return randomDigest();
  }
  return digest;
}

bool sameDigest(const Digest& a, const Digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Digest Handshake::sign(std::string_view role) const {
  std::string text(role);
  text += '\0';
  text += bytesOf(hello);
  text += bytesOf(acceptorNonce);
  return hmac(key, text);
}

Digest joinProof(const Digest& sessionKey, const JoinBody& join) {
  JoinBody unsignedBody = join;
  unsignedBody.proof = Digest{};
  std::string text("join");
  text += bytesOf(unsignedBody);
  return hmac(sessionKey, text);
}

}  // namespace hccl::transport
