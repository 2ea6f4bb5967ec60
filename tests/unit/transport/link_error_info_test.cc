#include "transport/link_error_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hccl::transport {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

LinkErrorFacts factsWith(std::vector<LinkErrorRow> rows) {
  return {"group", 2, 1, "10.0.0.1:4000", "10.0.0.1/1", 140, std::move(rows)};
}

TEST(LinkErrorInfo, TellsWhatIsKnownOfEachPeer) {
  EXPECT_EQ(linkStatusOf(""), "no connect");
  EXPECT_EQ(linkStatusOf("connect to x: Connection timed out (errno 110)"), "time out");
  EXPECT_EQ(linkStatusOf("connect to x: No route to host (errno 113)"), "connect failed");
  EXPECT_EQ(linkStatusOf("connected, but the link is not complete"), "connected");
}

TEST(LinkErrorInfo, TheTableHasARowForEachPeer) {
  const auto lines = linkErrorLines(
      factsWith({{1, "10.0.0.2:5000", "10.0.0.2/0", ""}, {3, "[::1]:6000", "::1/0", ""}}));
  EXPECT_THAT(lines, Contains(HasSubstr("|  10.0.0.2(1)   |  5000  |   10.0.0.1(2)  |  4000  |  "
                                        "client | no connect |")));
  EXPECT_THAT(lines, Contains(HasSubstr("|  [::1](3)   |  6000  |   10.0.0.1(2)  |  4000  |  "
                                        "server | no connect |")));
  EXPECT_THAT(lines, Contains(HasSubstr("remoteRank[1]-remoteUserrank[1]-remoteIpAddr[10.0.0.2/0]"
                                        ", machineType[1]")));
}

TEST(LinkErrorInfo, AReachablePeerIsNoEvent) {
  const auto lines =
      detectionLines(factsWith({{1, "10.0.0.2:5000", "10.0.0.2/0", "connected, but"}}));
  EXPECT_THAT(lines, Contains(HasSubstr("detects no exception event")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("fails to connect"))));
  const auto unreached = detectionLines(factsWith({{1, "10.0.0.2:5000", "10.0.0.2/0", ""}}));
  EXPECT_THAT(unreached, Contains(HasSubstr("srcRank 2 (10.0.0.1/1) fails to connect to dstRank 1 "
                                            "(10.0.0.2/0): no answer")));
}

}  // namespace
}  // namespace hccl::transport
