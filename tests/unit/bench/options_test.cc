// The command line of the benchmarks.
#include "bench/parts/options.h"

#include <gtest/gtest.h>

#include "bench/parts/error.h"

namespace hccl::bench {
namespace {

Parsed parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "all_reduce_test");
  return parseOptions(static_cast<int>(arguments.size()), arguments.data(), "all_reduce_test", "");
}

std::vector<uint64_t> sizes(const Options& options, size_t atMost = 100) {
  std::vector<uint64_t> all;
  SizeSequence sequence(options);
  for (uint64_t bytes = 0; all.size() < atMost && sequence.next(&bytes);) all.push_back(bytes);
  return all;
}

TEST(BenchOptions, DefaultsAreThoseOfHccl) {
  const Parsed result = parsed({});
  ASSERT_TRUE(result.proceed) << result.text;
  const Options& options = result.options;
  EXPECT_EQ(options.minBytes, 64ULL << 20);
  EXPECT_EQ(options.iterations, 20U);
  EXPECT_EQ(options.warmUps, 10U);
  EXPECT_EQ(options.type, HCCL_DATA_TYPE_FP32);
  EXPECT_EQ(options.op, HCCL_REDUCE_SUM);
  EXPECT_EQ(options.check, CheckMode::On);
  EXPECT_EQ(options.devicesPerNode, 0U);
  EXPECT_FALSE(options.onlyDeviceTime);
  EXPECT_EQ(sizes(options), std::vector<uint64_t>{64ULL << 20});
}

TEST(BenchOptions, ShortAndLongNamesMeanTheSame) {
  const Options brief =
      parsed({"-b", "8K", "-e", "64M", "-f", "2",  "-d", "bfp16", "-o", "max", "-p",
              "8",  "-n", "5",  "-w",  "0",  "-r", "3",  "-c",    "2",  "-t",  "1"})
          .options;
  EXPECT_EQ(brief.minBytes, 8192U);
  EXPECT_EQ(brief.maxBytes, 64ULL << 20);
  EXPECT_EQ(brief.stepFactor, 2U);
  EXPECT_EQ(brief.type, HCCL_DATA_TYPE_BFP16);
  EXPECT_EQ(brief.op, HCCL_REDUCE_MAX);
  EXPECT_EQ(brief.devicesPerNode, 8U);
  EXPECT_EQ(brief.root, 3U);
  EXPECT_EQ(brief.check, CheckMode::Verbose);
  EXPECT_TRUE(brief.onlyDeviceTime);
  const Options full = parsed({"--minbytes", "8K", "--maxbytes", "64M", "--stepfactor", "2",
                               "--datatype", "bfp16", "--op", "max", "--onlydevicetime"})
                           .options;
  EXPECT_EQ(full.minBytes, brief.minBytes);
  EXPECT_EQ(full.maxBytes, brief.maxBytes);
  EXPECT_EQ(full.type, brief.type);
  EXPECT_EQ(full.op, brief.op);
  EXPECT_TRUE(full.onlyDeviceTime);
}

TEST(BenchOptions, StepsReachTheLargestSizeAndNeverPassIt) {
  EXPECT_EQ(sizes(parsed({"-b", "8", "-e", "128", "-f", "4"}).options),
            (std::vector<uint64_t>{8, 32, 128}));
  EXPECT_EQ(sizes(parsed({"-b", "8", "-e", "127", "-f", "4"}).options),
            (std::vector<uint64_t>{8, 32}));
  EXPECT_EQ(sizes(parsed({"-b", "10", "-e", "30", "-i", "10"}).options),
            (std::vector<uint64_t>{10, 20, 30}));
  EXPECT_EQ(sizes(parsed({"-b", "0", "-e", "100"}).options).size(), 11U);
  // The factor wins.
  EXPECT_EQ(sizes(parsed({"-b", "1", "-e", "4", "-i", "1", "-f", "2"}).options),
            (std::vector<uint64_t>{1, 2, 4}));
  // Step 0 repeats the smallest size.
  EXPECT_EQ(sizes(parsed({"-b", "4", "-e", "64", "-i", "0"}).options, 3),
            (std::vector<uint64_t>{4, 4, 4}));
}

TEST(BenchOptions, SizesHaveSuffixes) {
  EXPECT_EQ(parseBytes("8"), 8U);
  EXPECT_EQ(parseBytes("8B"), 8U);
  EXPECT_EQ(parseBytes("2k"), 2048U);
  EXPECT_EQ(parseBytes("1.5M"), 3ULL << 19);
  EXPECT_EQ(parseBytes("2GB"), 2ULL << 30);
  for (const char* wrong : {"", "K", "-1", "1T", "1KX", "nan", "x"}) {
    EXPECT_THROW(parseBytes(wrong), BenchError) << wrong;
  }
}

TEST(BenchOptions, MistakesAreToldAndEndTheProgram) {
  for (const std::vector<const char*>& wrong :
       std::vector<std::vector<const char*>>{{"-b", "1M", "-e", "1K"},
                                             {"-f", "1"},
                                             {"-d", "fp33"},
                                             {"-o", "mean"},
                                             {"-c", "3"},
                                             {"-n", "0"},
                                             {"--unknown"},
                                             {"-b", "seven"},
                                             {"--memory", "paper"}}) {
    const Parsed result = parsed(wrong);
    EXPECT_FALSE(result.proceed) << wrong[0];
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_NE(result.text.find("all_reduce_test: "), std::string::npos) << result.text;
  }
  const Parsed help = parsed({"-h"});
  EXPECT_FALSE(help.proceed);
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_NE(help.text.find("--busbw"), std::string::npos);
}

}  // namespace
}  // namespace hccl::bench
