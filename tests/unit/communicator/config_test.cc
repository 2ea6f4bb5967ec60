#include "src/communicator/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "hccl/hccl_comm.h"

namespace hccl {
namespace {

HcclCommConfig initialised() {
  HcclCommConfig c;
  HcclCommConfigInit(&c);
  return c;
}

void setVersion(HcclCommConfig& c, uint32_t version) {
  std::memcpy(c.reserved + 12, &version, sizeof(version));
}

CommSettings load(const HcclCommConfig* c, const Environment& env = {}) {
  const auto loaded = loadConfig(c, env, "test");
  EXPECT_TRUE(loaded.isOk()) << loaded.status().text();
  return loaded.isOk() ? loaded->settings : CommSettings{};
}

TEST(Config, EnvironmentStaysWithoutAConfiguration) {
  Environment env;
  env.bufferSizeMb = 64;
  env.execTimeoutSec = 77;
  env.deterministic = Deterministic::kStrict;
  env.deterministicSet = true;
  const HcclCommConfig untouched = initialised();
  for (const HcclCommConfig* c : {static_cast<const HcclCommConfig*>(nullptr), &untouched}) {
    const CommSettings s = load(c, env);
    EXPECT_EQ(s.bufferBytes, 64ULL << 20);
    EXPECT_EQ(s.execTimeoutSec, 77);
    EXPECT_EQ(s.deterministic, 2U);
    EXPECT_FALSE(s.deterministicFromConfig);
    EXPECT_EQ(s.name, "");
    EXPECT_EQ(s.userInformation, "Unspecified");
  }
}

TEST(Config, FieldsWin) {
  HcclCommConfig c = initialised();
  c.hcclBufferSize = 3;
  c.hcclDeterministic = 1;
  std::strcpy(c.hcclCommName, "name");
  std::strcpy(c.hcclUdi, "mine");
  c.hcclOpExpansionMode = 1;
  c.hcclRdmaTrafficClass = 8;
  c.hcclRdmaServiceLevel = 2;
  c.hcclWorldRankID = 5;
  c.hcclJobID = 6;
  c.hcclExecTimeOut = 0;
  std::strcpy(c.hcclAlgo, "level0:NA;level1:NHR");
  std::strcpy(c.hcclRetryEnable, "L1:1, L2:0");
  std::strcpy(c.hcclRetryParams, "MaxCnt:2,HoldTime:3,IntervalTime:4");
  std::strcpy(c.hcclBufferName, "shared");
  c.hcclQos = 9;
  c.hcclSymWinMaxMemSizePerRank = 1;
  c.hcclChannelSqDepth = 128;
  const CommSettings s = load(&c);
  EXPECT_EQ(s.bufferBytes, 3ULL << 20);
  EXPECT_EQ(s.deterministic, 1U);
  EXPECT_TRUE(s.deterministicFromConfig);
  EXPECT_EQ(s.name, "name");
  EXPECT_EQ(s.userInformation, "mine");
  EXPECT_EQ(s.opExpansionMode, 1U);
  EXPECT_EQ(s.rdmaTrafficClass, 8U);
  EXPECT_EQ(s.rdmaServiceLevel, 2U);
  EXPECT_EQ(s.worldRank, 5U);
  EXPECT_EQ(s.jobId, 6U);
  EXPECT_EQ(s.execTimeoutSec, 0);
  EXPECT_EQ(s.algo.level(AlgoOp::kAllReduce, 1), AlgoToken::kNhr);
  EXPECT_TRUE(s.retryEnable.server);
  EXPECT_EQ(s.retryParams.intervalTimeMs, 4U);
  EXPECT_EQ(s.bufferName, "shared");
  EXPECT_EQ(s.qos, 9U);
  EXPECT_EQ(s.symWinMaxGb, 1U);
  EXPECT_EQ(s.channelSqDepth, 128U);
}

// Each version adds fields; those of later versions do not count.
TEST(Config, Versions) {
  HcclCommConfig c = initialised();
  std::strcpy(c.hcclCommName, "name");
  std::strcpy(c.hcclUdi, "mine");
  c.hcclRdmaServiceLevel = 2;
  c.hcclJobID = 6;
  c.hcclExecTimeOut = 5;
  std::strcpy(c.hcclBufferName, "shared");
  c.hcclQos = 9;
  c.hcclChannelSqDepth = 128;
  for (uint32_t version = 1; version <= 12; ++version) {
    SCOPED_TRACE(version);
    setVersion(c, version);
    const CommSettings s = load(&c);
    EXPECT_EQ(s.name, version >= 2 ? "name" : "");
    EXPECT_EQ(s.userInformation, version >= 3 ? "mine" : "Unspecified");
    EXPECT_EQ(s.rdmaServiceLevel, version >= 5 ? 2U : 4U);
    EXPECT_EQ(s.jobId, version >= 6 ? 6U : 0U);
    EXPECT_EQ(s.execTimeoutSec, version >= 8 ? 5 : 1836);
    EXPECT_EQ(s.bufferName, version >= 9 ? "shared" : "");
    EXPECT_EQ(s.qos, version >= 10 ? 9U : 0xffffffffU);
    EXPECT_EQ(s.channelSqDepth, version >= 11 ? 128U : 0xffffffffU);
  }
}

TEST(Config, AgreedFactsAreEqualForEqualSettings) {
  CommSettings a;
  CommSettings b;
  b.execTimeoutSec = 1;  // each rank's own business
  EXPECT_EQ(agreedFacts(a), agreedFacts(b));
  b.bufferBytes = 1 << 20;
  EXPECT_NE(agreedFacts(a), agreedFacts(b));
  EXPECT_THAT(agreedFacts(b), ::testing::HasSubstr("\"inCclBufferSize\":1,"));
}

TEST(Config, EnvironmentBlocksTheProcessSetting) {
  Environment env;
  env.deterministicSet = true;
  env.deterministic = Deterministic::kOn;
  EXPECT_TRUE(setProcessDeterministic(2, env).isOk());
  EXPECT_EQ(processDeterministic(env), 1);
  EXPECT_EQ(setProcessDeterministic(3, env).code(), HCCL_E_PARA);
  const Environment plain;
  EXPECT_EQ(processDeterministic(plain), 0);
  EXPECT_TRUE(setProcessDeterministic(2, plain).isOk());
  EXPECT_EQ(processDeterministic(plain), 2);
  EXPECT_TRUE(setProcessDeterministic(0, plain).isOk());
}

}  // namespace
}  // namespace hccl
