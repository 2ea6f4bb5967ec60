#include "src/bootstrap/wire.h"

#include <gtest/gtest.h>

#include "src/bootstrap/records.h"

namespace hccl::bootstrap {
namespace {

std::string hex(const Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

TEST(Digest, KnownValues) {
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // RFC 4231, test case 2, with the key padded to 32 bytes by zeros (HMAC pads the same way).
  Digest key{};
  key[0] = 'J';
  key[1] = 'e';
  key[2] = 'f';
  key[3] = 'e';
  EXPECT_EQ(hex(hmac(key, {"what do ya want ", "for nothing?"})),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_NE(hex(*randomDigest()), hex(*randomDigest()));
}

TEST(Wire, Hello) {
  Hello hello{7, {}};
  hello.nonce[31] = 9;
  const std::string bytes = encodeHello(hello);
  ASSERT_EQ(bytes.size(), kHelloBytes);
  const auto back = decodeHello(bytes);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->version, 7u);
  EXPECT_EQ(back->nonce, hello.nonce);
  EXPECT_FALSE(decodeHello(bytes.substr(1)));
  EXPECT_FALSE(decodeHello("X" + bytes.substr(1)));
}

TEST(Wire, FramesAreBoundToTheirPlace) {
  const Digest secret = sha256("secret");
  Session agent(secret, "a", "s");
  Session server(secret, "a", "s");
  const std::string body = "hello";
  const std::string first = agent.sealFrame(false, FrameType::kJoin, body.size(), sha256(body));
  const auto header = Session::parseHeader(first);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->length, 5u);
  EXPECT_FALSE(server.openFrame(false, *header, "hellO"));
  EXPECT_FALSE(server.openFrame(true, *header, body));  // other direction
  EXPECT_TRUE(server.openFrame(false, *header, body));
  EXPECT_FALSE(server.openFrame(false, *header, body));  // replayed
  Session other(secret, "b", "s");
  EXPECT_FALSE(other.openFrame(false, *header, body));  // another connection
  EXPECT_NE(server.serverProof(), server.agentProof());
}

TEST(Wire, HeaderLimits) {
  Session session(sha256("x"), "a", "s");
  std::string header = session.sealFrame(false, FrameType::kJoin, kMaxFrameBytes, sha256(""));
  EXPECT_TRUE(Session::parseHeader(header));
  header = session.sealFrame(false, FrameType::kJoin, kMaxFrameBytes + 1, sha256(""));
  EXPECT_FALSE(Session::parseHeader(header));
  header = session.sealFrame(false, static_cast<FrameType>(99), 1, sha256(""));
  EXPECT_FALSE(Session::parseHeader(header));
}

RankInfo fullRank() {
  RankInfo info;
  info.rank = 3;
  info.serverId = "s";
  info.superPodId = "p";
  info.deviceId = 5;
  info.hostIp = "10.0.0.1";
  info.deviceIps = {"10.1.0.1", "10.1.0.2"};
  info.devicePort = 17000;
  info.hostPort = 18000;
  info.superDeviceId = "8";
  info.hostNic = true;
  info.protocol = "tcp";
  info.layers = {{0, "i", "CLOS"}};
  info.endpoint = R"({"shm":"x"})";
  return info;
}

TEST(Records, JoinRoundTrip) {
  JoinRecord record;
  record.rankCount = 8;
  record.rank = 3;
  record.rootCount = 2;
  record.rootIndex = 1;
  record.ranks = {fullRank()};
  record.agreed = R"({"k":1})";
  record.failure = Status(HCCL_E_TIMEOUT, "late", 15, 7);
  auto back = decodeJoin(*encodeJoin(record));
  ASSERT_TRUE(back.isOk()) << back.status().text();
  const JoinRecord& got = *back;
  EXPECT_EQ(got.rankCount, 8u);
  EXPECT_EQ(got.rootIndex, 1u);
  EXPECT_EQ(got.ranks, record.ranks);
  EXPECT_EQ(got.agreed, record.agreed);
  EXPECT_EQ(got.failure.code(), HCCL_E_TIMEOUT);
  EXPECT_EQ(got.failure.culprit(), 7);
}

TEST(Records, BrokenBodiesAreRefused) {
  JoinRecord record;
  record.rankCount = 1;
  record.ranks = {fullRank()};
  const std::string text = *encodeJoin(record);
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(decodeJoin(text.substr(0, length)).isOk());
  }
  for (size_t colon = text.find(':'); colon != std::string::npos;
       colon = text.find(':', colon + 1)) {
    for (const char* other : {"null,\"x\":", "[],\"x\":", "-1,\"x\":", "1e99,\"x\":"}) {
      std::string changed = text;
      changed.insert(colon + 1, other);
      (void)decodeJoin(changed);
      (void)decodeVerdict(changed);
    }
  }
  EXPECT_FALSE(decodeJoin(std::string(100000, '[')).isOk());
  EXPECT_FALSE(decodeVerdict("{}").isOk());
  EXPECT_FALSE(decodeRankList("[]").isOk());
}

TEST(Records, BinaryEndpointIsAnErrorOfTheCaller) {
  JoinRecord record;
  record.ranks = {fullRank()};
  record.ranks[0].endpoint = "\xff\xfe";
  EXPECT_EQ(encodeJoin(record).status().code(), HCCL_E_PARA);
}

}  // namespace
}  // namespace hccl::bootstrap
