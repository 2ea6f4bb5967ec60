// Ranks in different network namespaces of one host: shared memory is refused by itself, TCP joins
// them.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/unit/transport/rank_process.h"

namespace hccl::transport {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

bool shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

// Two namespaces joined by a veth pair, gone with the object.
class TwoNamespaces {
 public:
  TwoNamespaces()
      : a_(fmt::format("hccl-a{}", ::getpid())), b_(fmt::format("hccl-b{}", ::getpid())) {
    const std::string veth = fmt::format("v{}", ::getpid());
    made_ = shell("ip netns add " + a_) && shell("ip netns add " + b_) &&
            shell(fmt::format("ip link add {0}a netns {1} type veth peer name {0}b netns {2}", veth,
                              a_, b_)) &&
            up(a_, veth + "a", 1) && up(b_, veth + "b", 2);
  }
  ~TwoNamespaces() {
    shell("ip netns del " + a_);
    shell("ip netns del " + b_);
  }
  bool isMade() const { return made_; }
  std::vector<std::string> enter(int which) const {
    return {"ip", "netns", "exec", which == 0 ? a_ : b_};
  }

 private:
  static bool up(const std::string& space, const std::string& device, int host) {
    return shell(fmt::format("ip -n {} addr add 10.99.7.{}/24 dev {}", space, host, device)) &&
           shell(
               fmt::format("ip -n {} addr add fd00:99::{}/64 nodad dev {}", space, host, device)) &&
           shell(fmt::format("ip -n {} link set {} up", space, device)) &&
           shell(fmt::format("ip -n {} link set lo up", space));
  }
  std::string a_, b_;
  bool made_ = false;
};

TEST(Namespaces, FallBackToTcpAndSayWhy) {
  if (::geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
  const TwoNamespaces spaces;
  if (!spaces.isMade()) GTEST_SKIP() << "ip netns with a veth pair does not work here";
  for (const bool v6 : {false, true}) {
    RankProcess a(spaces.enter(0)), b(spaces.enter(1));
    const std::vector<std::string> cards = {
        a.run(fmt::format("endpoint 0 {} 0", v6 ? "fd00:99::1" : "10.99.7.1")),
        b.run(fmt::format("endpoint 1 {} 0", v6 ? "fd00:99::2" : "10.99.7.2"))};
    ASSERT_THAT(cards[0], StartsWith("{"));
    ASSERT_THAT(cards[1], StartsWith("{"));
    ASSERT_EQ(makeRankLinks(&a, cards, 0), "ok");
    ASSERT_EQ(makeRankLinks(&b, cards, 1), "ok");
    EXPECT_EQ(a.run("connect 1 0 20"), "ok");
    EXPECT_EQ(b.run("connect 0 0 20"), "ok");
    const auto matcher = AllOf(StartsWith("2 0 tcp: 1 connection with "),
                               HasSubstr("shm: different network namespaces"));
    EXPECT_THAT(a.run("describe 1 0"), matcher);
    EXPECT_THAT(b.run("describe 0 0"), matcher);
    auto other = b.start("exchange 0 0 1000000 5 1 20");
    EXPECT_EQ(a.run("exchange 1 0 1000000 5 1 20"), "ok");
    EXPECT_EQ(other.get(), "ok");
  }
}

TEST(Namespaces, LoopbackOfIpv6) {
  RankProcess a, b;
  const auto cards = exchangeCards({&a, &b}, "::1");
  if (cards[0].rfind("{", 0) != 0) GTEST_SKIP() << "no IPv6 here: " << cards[0];
  ASSERT_EQ(makeRankLinks(&a, cards, 0, "tcp"), "ok");
  ASSERT_EQ(makeRankLinks(&b, cards, 1, "tcp"), "ok");
  EXPECT_EQ(a.run("connect 1 1 20"), "ok");
  EXPECT_THAT(a.run("describe 1 1"), HasSubstr("[::1]:"));
}

TEST(Namespaces, AnotherUserGetsTcp) {
  if (::geteuid() != 0) GTEST_SKIP() << "switching users needs root";
  if (!shell("setpriv --reuid=65534 --clear-groups true")) GTEST_SKIP() << "no setpriv here";
  RankProcess a, b({"setpriv", "--reuid=65534", "--clear-groups"});
  const auto cards = exchangeCards({&a, &b});
  if (cards[1].rfind("{", 0) != 0) GTEST_SKIP() << "the test helper cannot run as another user";
  // The higher rank is the one that calls: once the other user, once root.
  for (const bool swap : {false, true}) {
    Rank* low = swap ? static_cast<Rank*>(&b) : &a;
    Rank* high = swap ? static_cast<Rank*>(&a) : &b;
    const std::vector<std::string> ordered = {cards[swap ? 1 : 0], cards[swap ? 0 : 1]};
    ASSERT_EQ(makeRankLinks(low, ordered, 0, "auto", "s", swap ? "x" : "y"), "ok");
    ASSERT_EQ(makeRankLinks(high, ordered, 1, "auto", "s", swap ? "x" : "y"), "ok");
    EXPECT_EQ(low->run("connect 1 0 20"), "ok");
    EXPECT_EQ(high->run("connect 0 0 20"), "ok");
    EXPECT_THAT(low->run("describe 1 0"), StartsWith("2 0 tcp: "));
    EXPECT_THAT(high->run("describe 0 0"), StartsWith("2 0 tcp: "));
    EXPECT_THAT(high->run("describe 0 0"), HasSubstr("user"));
    low->run("destroy");
    high->run("destroy");
  }
}

TEST(Environment, StreamsAreTheSmallerNumberOfBothEnds) {
  RankProcess a({"env", "HCCL_HOST_TCP_STREAMS=3"}), b({"env", "HCCL_HOST_TCP_STREAMS=2"});
  const auto cards = exchangeCards({&a, &b});
  ASSERT_EQ(makeRankLinks(&a, cards, 0, "tcp"), "ok");
  ASSERT_EQ(makeRankLinks(&b, cards, 1, "tcp"), "ok");
  ASSERT_EQ(a.run("connect 1 0 20"), "ok");
  ASSERT_EQ(b.run("connect 0 0 20"), "ok");
  EXPECT_THAT(a.run("describe 1 0"), HasSubstr("tcp: 2 connections with 127.0.0.1:"));
  EXPECT_THAT(b.run("describe 0 0"), HasSubstr("tcp: 2 connections with 127.0.0.1:"));
  for (const int sequence : {1, 2, 3}) {
    auto other = b.start(fmt::format("exchange 0 0 3000001 5 {} 20", sequence));
    EXPECT_EQ(a.run(fmt::format("exchange 1 0 3000001 5 {} 20", sequence)), "ok");
    EXPECT_EQ(other.get(), "ok");
  }
}

// Two neighbouring ports that nobody has now, below the range of connections' own ports.
uint16_t freePortPair() {
  const auto bindable = [](uint16_t port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    const bool ok = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    return ok;
  };
  const auto start = static_cast<uint16_t>(20000 + getpid() % 5000 * 2);
  for (uint16_t port = start; port < 32000; port += 2) {
    if (bindable(port) && bindable(static_cast<uint16_t>(port + 1))) return port;
  }
  return 0;
}

TEST(Environment, PortsComeOutOfTheRange) {
  const uint16_t port = freePortPair();
  ASSERT_NE(port, 0);
  const std::string range = fmt::format("{}-{}", port, port + 1);
  const std::vector<std::string> prefix = {"env", "HCCL_NPU_SOCKET_PORT_RANGE=" + range};
  RankProcess a(prefix), b(prefix), c(prefix);
  const std::string first = a.run("endpoint 0 127.0.0.1 0");
  const std::string second = b.run("endpoint 0 127.0.0.1 0");
  EXPECT_THAT(first, HasSubstr(fmt::format("\"port\":{}", port)));
  EXPECT_THAT(second, HasSubstr(fmt::format("\"port\":{}", port + 1)));
  const std::string third = c.run("endpoint 0 127.0.0.1 0");
  EXPECT_THAT(third, StartsWith("error 7 20 -1 Failed to enable listening for the NPU network"));
  EXPECT_THAT(third, HasSubstr(range));
}

TEST(Scale, EightProcessesJoinAllPairsAtOnce) {
  for (const std::string transports : {"auto", "tcp"}) {
    constexpr uint32_t kRanks = 8;
    std::vector<std::unique_ptr<RankProcess>> owned;
    std::vector<Rank*> ranks;
    for (uint32_t i = 0; i < kRanks; ++i) {
      owned.push_back(std::make_unique<RankProcess>());
      ranks.push_back(owned.back().get());
    }
    const auto cards = exchangeCards(ranks);
    for (uint32_t i = 0; i < kRanks; ++i) {
      ASSERT_EQ(makeRankLinks(ranks[i], cards, i, transports), "ok");
    }
    std::vector<std::future<std::string>> joins;
    for (uint32_t i = 0; i < kRanks; ++i) {
      joins.push_back(ranks[i]->start("connect 0,1,2,3,4,5,6,7 0 20"));
    }
    for (auto& join : joins) EXPECT_EQ(join.get(), "ok");
    for (uint32_t i = 0; i < kRanks; ++i) {
      for (uint32_t j = 0; j < kRanks; ++j) {
        const std::string text = ranks[i]->run(fmt::format("describe {} 0", j));
        EXPECT_THAT(text, StartsWith(i == j ? "0 " : transports == "tcp" ? "2 " : "1 "));
      }
    }
  }
}

}  // namespace
}  // namespace hccl::transport
