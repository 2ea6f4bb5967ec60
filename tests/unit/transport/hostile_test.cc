// Strangers on the ports: floods, garbage, other versions, false proofs.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <random>

#include "src/base/socket.h"
#include "src/runtime/engine.h"
#include "tests/unit/transport/rank_process.h"
#include "transport/card.h"
#include "transport/links_core.h"
#include "transport/listeners.h"
#include "transport/wire.h"

namespace hccl::transport {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

UniqueFd dial(const SocketAddress& address) {
  auto fd = connectTcp(address, Deadline::after(5));
  return fd.isOk() ? std::move(*fd) : UniqueFd();
}

void sendMessage(int fd, MessageType type, std::string_view body, uint16_t version = kWireVersion) {
  MessageHeader header;
  header.version = version;
  header.type = static_cast<uint16_t>(type);
  header.length = static_cast<uint32_t>(body.size());
  std::string wire(bytesOf(header));
  wire += body;
  ASSERT_TRUE(sendAll(fd, wire.data(), wire.size(), Deadline::after(5)).isOk());
}

// False when the other end closed (or said nothing for 10 s).
bool receiveMessage(int fd, MessageHeader* header, std::string* body) {
  if (!recvAll(fd, header, sizeof *header, Deadline::after(10)).isOk()) return false;
  body->resize(header->length);
  return recvAll(fd, body->data(), body->size(), Deadline::after(10)).isOk();
}

bool isClosed(int fd) {
  char byte;
  pollfd ready{fd, POLLIN, 0};
  return ::poll(&ready, 1, 10000) == 1 && ::recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

class Hostile : public ::testing::Test {
 protected:
  void SetUp() override {
    cards_ = exchangeCards({&a_, &b_});
    address_ = Card::parse(cards_[0])->tcp;
  }
  void makeBoth() {
    ASSERT_EQ(makeRankLinks(&a_, cards_, 0, "tcp"), "ok");
    ASSERT_EQ(makeRankLinks(&b_, cards_, 1, "tcp"), "ok");
  }
  LocalRank a_, b_;
  std::vector<std::string> cards_;
  SocketAddress address_;
};

TEST_F(Hostile, AFloodDelaysNobodyAndLeaksNothing) {
  makeBoth();
  ASSERT_TRUE(runtime::Engine::instance().wakeSet().isOk());
  const size_t before = openFds();
  {
    std::vector<UniqueFd> flood;
    std::mt19937 random(1);
    for (int i = 0; i < 1000; ++i) {
      flood.push_back(dial(address_));
      ASSERT_TRUE(flood.back());
      if (i % 2 == 0) continue;  // silent ones
      std::string garbage(random() % 300, '\0');
      for (char& c : garbage) c = static_cast<char>(random());
      (void)::send(flood.back().get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
    }
    const uint64_t start = monotonicNs();
    EXPECT_EQ(b_.run("connect 0 0 10"), "ok");
    EXPECT_EQ(a_.run("connect 1 0 10"), "ok");
    EXPECT_LT(monotonicNs() - start, 2'000'000'000ULL);
    EXPECT_LE(Listeners::instance().strangerCount(), kMaxStrangers);
  }
  const Deadline deadline = Deadline::after(10);
  while (Listeners::instance().strangerCount() != 0) ASSERT_FALSE(deadline.expired());
  // What the link itself needs: channel and one data connection, both ends in this process.
  EXPECT_LE(openFds(), before + 4);
}

TEST_F(Hostile, SilentStrangersAreShownTheDoor) {
  makeBoth();
  const UniqueFd silent = dial(address_);
  EXPECT_TRUE(isClosed(silent.get()));
}

TEST_F(Hostile, MalformedMessagesEndTheConnection) {
  makeBoth();
  const HelloBody hello;
  struct {
    MessageType type;
    std::string body;
  } const cases[] = {
      {MessageType::kHello, "short"},
      {MessageType::kHello, std::string(kMaxStrangerBody + 1, 'x')},
      {MessageType::kHello, std::string(bytesOf(hello)) + "x"},
      {MessageType::kSetup, "no member"},
      {MessageType::kBye, ""},
      {MessageType::kJoin, std::string(sizeof(JoinBody), 'x')},
      {static_cast<MessageType>(9999), "?"},
  };
  for (const auto& item : cases) {
    const UniqueFd fd = dial(address_);
    sendMessage(fd.get(), item.type, item.body);
    EXPECT_TRUE(isClosed(fd.get())) << static_cast<int>(item.type);
  }
  EXPECT_EQ(b_.run("connect 0 0 10"), "ok");
}

TEST_F(Hostile, AnotherVersionIsToldOurs) {
  makeBoth();
  const UniqueFd fd = dial(address_);
  sendMessage(fd.get(), MessageType::kHello, std::string(80, 'x'), 99);
  MessageHeader header;
  std::string body;
  ASSERT_TRUE(receiveMessage(fd.get(), &header, &body));
  EXPECT_EQ(header.type, static_cast<uint16_t>(MessageType::kReject));
  RejectBody reject;
  ASSERT_TRUE(readBody(body, &reject));
  EXPECT_EQ(reject.reason, RejectReason::kVersion);
  EXPECT_EQ(reject.version, kWireVersion);
  EXPECT_TRUE(isClosed(fd.get()));
}

TEST_F(Hostile, ACardOfAnotherVersionIsEi0008) {
  std::string other = cards_[1];
  const size_t at = other.find("\"wire\":1");
  ASSERT_NE(at, std::string::npos);
  other.replace(at, 8, "\"wire\":2");
  ASSERT_EQ(makeRankLinks(&a_, {cards_[0], other}, 0, "tcp"), "ok");
  EXPECT_EQ(a_.run("connect 1 0 10"),
            "error 5 8 1 The HCCL wire protocol versions are inconsistent. The local 1, while the "
            "remote 2.");
}

// A server that stands in for rank 0 and answers a call with one message.
class FakePeer {
 public:
  FakePeer() : listener_(std::move(*listenTcp(IpAddress::loopback(AF_INET), 0))) {}
  std::string card(const std::string& model) const {
    auto card = *Card::parse(model);
    card.process = "another";
    card.boot = "another";
    card.tcp = *localAddress(listener_.get());
    return card.toText();
  }
  // Answers one call.
  void answer(MessageType type, std::string_view body, uint16_t version = kWireVersion) {
    auto caller = acceptTcp(listener_.get(), Deadline::after(10));
    ASSERT_TRUE(caller.isOk());
    MessageHeader header;
    std::string hello;
    ASSERT_TRUE(receiveMessage(caller->fd.get(), &header, &hello));
    EXPECT_EQ(header.type, static_cast<uint16_t>(MessageType::kHello));
    sendMessage(caller->fd.get(), type, body, version);
    // A caller that is not convinced leaves without showing its own proof.
    MessageHeader last;
    std::string words;
    while (receiveMessage(caller->fd.get(), &last, &words)) {
      EXPECT_EQ(last.type, static_cast<uint16_t>(MessageType::kReject));
    }
  }

 private:
  UniqueFd listener_;
};

TEST_F(Hostile, APeerOfAnotherVersionIsEi0008) {
  for (const bool rejects : {false, true}) {
    FakePeer peer;
    LocalRank rank;
    const std::string own = rank.run("endpoint 1 127.0.0.1 0");
    ASSERT_EQ(makeRankLinks(&rank, {peer.card(cards_[0]), own}, 1, "tcp"), "ok");
    auto connecting = rank.start("connect 0 0 10");
    if (rejects) {
      RejectBody reject;
      reject.reason = RejectReason::kVersion;
      reject.version = 7;
      peer.answer(MessageType::kReject, bytesOf(reject), 7);
    } else {
      peer.answer(MessageType::kChallenge, "whatever a later version says", 7);
    }
    EXPECT_EQ(connecting.get(),
              "error 5 8 0 The HCCL wire protocol versions are inconsistent. The local 1, while "
              "the remote 7.");
  }
}

TEST_F(Hostile, AFalseProofIsNotAnswered) {
  FakePeer peer;
  LocalRank rank;
  const std::string own = rank.run("endpoint 1 127.0.0.1 0");
  ASSERT_EQ(makeRankLinks(&rank, {peer.card(cards_[0]), own}, 1, "tcp"), "ok");
  auto connecting = rank.start("connect 0 0 0.5");
  const ChallengeBody challenge{randomDigest(), randomDigest()};
  peer.answer(MessageType::kChallenge, bytesOf(challenge));
  const std::string text = connecting.get();
  EXPECT_THAT(text, StartsWith("error 9 6 0 "));
}

TEST_F(Hostile, AnUnknownCommunicatorIsKeptWaiting) {
  makeBoth();
  const UniqueFd fd = dial(address_);
  HelloBody hello;
  hello.communicator = randomDigest();
  hello.source = 1;
  sendMessage(fd.get(), MessageType::kHello, bytesOf(hello));
  // It is not told apart from one that comes later.
  pollfd ready{fd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 100), 0);
  EXPECT_EQ(Listeners::instance().strangerCount(), 1U);
}

TEST_F(Hostile, ACallerWithoutTheSecretIsRefused) {
  makeBoth();
  // What an eavesdropper may know: everything but the secret.
  LinksConfig config;
  config.communicator = "comm";
  config.secret = "another";
  config.rank = 1;
  for (uint32_t i = 0; i < 2; ++i) config.cards.push_back({i, cards_[i]});
  const auto known = LinksCore::make(config, *Card::parse(cards_[1]), 0);
  ASSERT_TRUE(known.isOk());
  for (const int forgery : {0, 1, 2}) {
    const UniqueFd fd = dial(address_);
    Handshake handshake;
    handshake.key = (*known)->key();
    handshake.hello.communicator = (*known)->id();
    handshake.hello.source = 1;
    handshake.hello.nonce = randomDigest();
    sendMessage(fd.get(), MessageType::kHello, bytesOf(handshake.hello));
    MessageHeader header;
    std::string body;
    ASSERT_TRUE(receiveMessage(fd.get(), &header, &body));
    ASSERT_EQ(header.type, static_cast<uint16_t>(MessageType::kChallenge));
    ChallengeBody challenge;
    ASSERT_TRUE(readBody(body, &challenge));
    handshake.acceptorNonce = challenge.nonce;
    EXPECT_FALSE(sameDigest(challenge.proof, handshake.acceptorProof()));
    ResponseBody response{randomDigest()};
    if (forgery == 1) response.proof = challenge.proof;  // its own words, sent back
    if (forgery == 2) response.proof = handshake.initiatorProof();
    sendMessage(fd.get(), MessageType::kResponse, bytesOf(response));
    ASSERT_TRUE(receiveMessage(fd.get(), &header, &body));
    EXPECT_EQ(header.type, static_cast<uint16_t>(MessageType::kReject));
    RejectBody reject;
    ASSERT_TRUE(readBody(body, &reject));
    EXPECT_EQ(reject.reason, RejectReason::kProof);
    EXPECT_TRUE(isClosed(fd.get()));
  }
  EXPECT_EQ(a_.run("describe 1 0"), "none");
  EXPECT_EQ(b_.run("connect 0 0 10"), "ok");
}

TEST_F(Hostile, TakenPortIsEi0020) {
  auto listener = listenTcp(IpAddress::loopback(AF_INET), 0);
  const uint16_t port = localAddress(listener->get())->port;
  const auto text = localEndpoint(0, "127.0.0.1", port);
  ASSERT_FALSE(text.isOk());
  EXPECT_EQ(text.status().eiCode(), 20);
  EXPECT_EQ(text.status().code(), HCCL_E_UNAVAIL);
  EXPECT_THAT(
      text.status().text(),
      HasSubstr(fmt::format("Failed to enable listening for the NPU network adapter socket. "
                            "Reason: The IP address 127.0.0.1 and port {} have already been "
                            "bound.",
                            port)));
}

TEST(CardTest, RoundTripAndBrokenTexts) {
  const auto text = localEndpoint(3, "127.0.0.1", 0);
  ASSERT_TRUE(text.isOk());
  const auto card = Card::parse(*text);
  ASSERT_TRUE(card.isOk());
  EXPECT_EQ(card->device, 3);
  EXPECT_EQ(card->toText(), *text);
  EXPECT_TRUE(card->tcp.ip.isLoopback());
  for (const std::string broken : {"", "x", "{}", "[1]", "{\"wire\":1}", "{\"wire\":\"1\"}"}) {
    EXPECT_EQ(Card::parse(broken).status().code(), HCCL_E_PARA) << broken;
  }
  std::string wide = *text;
  wide.replace(wide.find("\"port\":"), 7, "\"port\":9");
  wide.replace(wide.find("\"port\":"), 7, "\"port\":9");
  EXPECT_FALSE(Card::parse(wide).isOk());
}

}  // namespace
}  // namespace hccl::transport
