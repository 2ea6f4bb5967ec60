#include "src/bootstrap/wire.h"

#include <algorithm>

namespace hccl::bootstrap {
namespace {

constexpr std::string_view kMagic = "HCCLBOOT";

void putInteger(std::string& out, uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
    out += static_cast<char>((value >> shift) & 0xFF);
  }
}

uint32_t getInteger(std::string_view bytes, size_t offset) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = (value << 8) | static_cast<uint8_t>(bytes[offset + i]);
  return value;
}

void getDigest(std::string_view bytes, size_t offset, Digest* digest) {
  std::copy_n(bytes.begin() + offset, digest->size(), digest->begin());
}

}  // namespace

std::string encodeHello(const Hello& hello) {
  std::string bytes(kMagic);
  putInteger(bytes, hello.version, 4);
  putInteger(bytes, 0, 4);
  bytes += view(hello.nonce);
  return bytes;
}

std::optional<Hello> decodeHello(std::string_view bytes) {
  if (bytes.size() != kHelloBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  Hello hello;
  hello.version = getInteger(bytes, kMagic.size());
  getDigest(bytes, kMagic.size() + 8, &hello.nonce);
  return hello;
}

Session::Session(const Digest& secret, std::string_view agentHello, std::string_view serverHello)
    : serverProof_(hmac(secret, {"server", agentHello, serverHello})),
      agentProof_(hmac(secret, {"agent", agentHello, serverHello})),
      frameKey_(hmac(secret, {"frame", agentHello, serverHello})) {}

Digest Session::frameCode(bool fromServer, uint64_t number, FrameType type, size_t length,
                          const Digest& digest) const {
  std::string fields(1, fromServer ? 's' : 'a');
  putInteger(fields, number, 8);
  putInteger(fields, static_cast<uint32_t>(type), 4);
  putInteger(fields, length, 4);
  return hmac(frameKey_, {fields, view(digest)});
}

std::string Session::sealFrame(bool fromServer, FrameType type, size_t length,
                               const Digest& digest) {
  std::string bytes;
  putInteger(bytes, static_cast<uint32_t>(type), 4);
  putInteger(bytes, length, 4);
  bytes += view(frameCode(fromServer, sent_++, type, length, digest));
  return bytes;
}

std::optional<FrameHeader> Session::parseHeader(std::string_view bytes) {
  if (bytes.size() != kFrameHeaderBytes) return std::nullopt;
  const uint32_t type = getInteger(bytes, 0);
  FrameHeader header;
  header.length = getInteger(bytes, 4);
  if (type < static_cast<uint32_t>(FrameType::kJoin) ||
      type > static_cast<uint32_t>(FrameType::kWelcome) || header.length > kMaxFrameBytes) {
    return std::nullopt;
  }
  header.type = static_cast<FrameType>(type);
  getDigest(bytes, 8, &header.code);
  return header;
}

bool Session::openFrame(bool fromServer, const FrameHeader& header, std::string_view body) {
  if (body.size() != header.length) return false;
  const Digest expected =
      frameCode(fromServer, received_, header.type, header.length, sha256(body));
  if (!isEqual(view(expected), view(header.code))) return false;
  ++received_;
  return true;
}

}  // namespace hccl::bootstrap
