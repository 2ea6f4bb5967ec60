#include "src/base/algo_config.h"

#include <gtest/gtest.h>

namespace hccl {
namespace {

using Token = AlgoToken;

AlgoLevels levelsOf(const char* text, AlgoOp op) {
  const auto config = parseAlgoConfig(text);
  EXPECT_TRUE(config.has_value()) << text;
  return config ? config->levels(op) : AlgoLevels{};
}

TEST(AlgoConfig, GlobalFormSetsEveryOperation) {
  const auto config = parseAlgoConfig("level0:NA; level1:H-D_R ;level2:NB");
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->text, "level0:NA;level1:H-D_R;level2:NB");
  for (size_t op = 0; op < kAlgoOpCount; ++op) {
    EXPECT_EQ(config->perOp[op], (AlgoLevels{Token::kNa, Token::kHalvingDoubling, Token::kNb}));
  }
  EXPECT_FALSE(config->flat);
}

TEST(AlgoConfig, EveryToken) {
  const std::pair<const char*, Token> rows[] = {{"ring", Token::kRing},
                                                {"pipeline", Token::kPipeline},
                                                {"H-D_R", Token::kHalvingDoubling},
                                                {"NHR", Token::kNhr},
                                                {"NHR_V1", Token::kNhrV1},
                                                {"NB", Token::kNb},
                                                {"AHC", Token::kAhc},
                                                {"AHC_BROKE", Token::kAhcBroke},
                                                {"fullmesh", Token::kFullMesh},
                                                {"pairwise", Token::kPairwise}};
  for (const auto& [name, token] : rows) {
    const std::string text = "level1:" + std::string(name);
    EXPECT_EQ(levelsOf(text.c_str(), AlgoOp::kAllToAll)[1], token) << name;
    EXPECT_EQ(toString(token), name);
  }
}

TEST(AlgoConfig, PerOperation) {
  const char* text =
      "allreduce=level0:NA;level1:NHR/alltoall=level1:pairwise/others=level1:ring;level2:NHR";
  EXPECT_EQ(levelsOf(text, AlgoOp::kAllReduce), (AlgoLevels{Token::kNa, Token::kNhr}));
  EXPECT_EQ(levelsOf(text, AlgoOp::kAllToAll), (AlgoLevels{Token::kUnset, Token::kPairwise}));
  EXPECT_EQ(levelsOf(text, AlgoOp::kBroadcast),
            (AlgoLevels{Token::kUnset, Token::kRing, Token::kNhr}));
  EXPECT_EQ(levelsOf("others=level1:ring/allreduce=level1:NB", AlgoOp::kAllReduce),
            (AlgoLevels{Token::kUnset, Token::kNb}));
  EXPECT_EQ(levelsOf("reduce=level1:NB", AlgoOp::kAllReduce), AlgoLevels{});
}

TEST(AlgoConfig, FlatTopology) {
  const auto config = parseAlgoConfig("level0:null;level1:ring");
  ASSERT_TRUE(config.has_value());
  EXPECT_TRUE(config->flat);
  EXPECT_FALSE(parseAlgoConfig("allreduce=level0:null;level1:ring").has_value());
}

TEST(AlgoConfig, IgnoredPartsWarn) {
  std::vector<std::string> warnings;
  auto config = parseAlgoConfig("level0:ring;level1:fullmesh", &warnings);
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->levels(AlgoOp::kAllReduce), (AlgoLevels{Token::kNa, Token::kUnset}));
  EXPECT_EQ(config->levels(AlgoOp::kAllToAll), (AlgoLevels{Token::kNa, Token::kFullMesh}));
  EXPECT_EQ(warnings.size(), 2u);
  warnings.clear();
  config = parseAlgoConfig("allreduce=level1:ring;level2:NHR_V1", &warnings);
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->level(AlgoOp::kAllReduce, 2), Token::kUnset);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST(AlgoConfig, AhcAtLevel1ForcesLevel2) {
  EXPECT_EQ(levelsOf("level1:AHC;level2:ring", AlgoOp::kAllReduce)[2], Token::kAhc);
  EXPECT_EQ(levelsOf("level1:AHC", AlgoOp::kReduceScatter)[2], Token::kAhc);
}

TEST(AlgoConfig, Illegal) {
  for (const char* text : {"ring",
                           "level1",
                           "level1:",
                           "level1:RING",
                           "level4:ring",
                           "levelx:ring",
                           "level10:ring",
                           "level1:ring;level1:NB",
                           "level1:ring;",
                           ";level1:ring",
                           "level0:NA;level1:ring;level2:NB;level3:NA;level0:NA",
                           "allreduce=",
                           "=level1:ring",
                           "AllReduce=level1:ring",
                           "barrier=level1:ring",
                           "allreduce=level1:ring/",
                           "allreduce=level1:ring/level1:NB",
                           "allreduce=level1:ring/allreduce=level1:NB",
                           "others=level1:ring/others=level1:NB",
                           "level1:ring/others=level1:NB"}) {
    EXPECT_FALSE(parseAlgoConfig(text).has_value()) << text;
  }
}

TEST(AlgoConfig, EmptyIsNotConfigured) {
  const auto config = parseAlgoConfig("  ");
  ASSERT_TRUE(config.has_value());
  EXPECT_FALSE(config->isSet());
}

TEST(AlgoConfig, LogText) {
  EXPECT_EQ(algoLevelsText({Token::kNa, Token::kAhcBroke}),
            "config level0:NA, level1:AHC_BROKE, level2:, level3:");
}

}  // namespace
}  // namespace hccl
