#include "src/base/clock.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <thread>

#include "src/base/ticks.h"

namespace hccl {
namespace {

TEST(Clock, WallClockTexts) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const uint64_t us = 1796035451123456ULL;
  EXPECT_EQ(wallClockText(us), "2026-11-30-10:44:11.123.456");
  EXPECT_EQ(wallClockFileStamp(us), "20261130104411123");
}

// Ticks are turned into the monotonic clock's nanoseconds, to within a thousandth.
TEST(Ticks, AgreeWithTheMonotonicClock) {
  const uint64_t firstNs = monotonicNs();
  const uint64_t first = Ticks::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const uint64_t second = Ticks::now();
  const uint64_t secondNs = monotonicNs();
  EXPECT_GT(second, first);
  const Ticks::Converter converter;
  const auto nsApart = static_cast<double>(converter.toNs(second) - converter.toNs(first));
  EXPECT_LE(nsApart, static_cast<double>(secondNs - firstNs) * 1.001 + 100);
  EXPECT_GE(nsApart, 49e6);
  EXPECT_NEAR(static_cast<double>(converter.toNs(first)), static_cast<double>(firstNs), 5e6);
}

TEST(Deadline, Bounds) {
  EXPECT_TRUE(Deadline::after(0).expired());
  EXPECT_TRUE(Deadline::after(-1).expired());
  EXPECT_EQ(Deadline::after(0).remainingMs(), 0);
  EXPECT_FALSE(Deadline::never().expired());
  EXPECT_EQ(Deadline::never().remainingMs(), -1);
  EXPECT_TRUE(Deadline::after(1e12).isNever());
  const Deadline minute = Deadline::after(60);
  EXPECT_FALSE(minute.expired());
  EXPECT_LE(minute.remainingMs(), 60000);
  EXPECT_GT(minute.remainingMs(), 59000);
  EXPECT_EQ(Deadline::never().earlier(minute).ns(), minute.ns());
  // Less than a millisecond is still a wait, not a poll.
  EXPECT_EQ(Deadline::atNs(monotonicNs() + 900000).remainingMs(), 1);
  // Longer than poll() can be told: 24 days and more.
  EXPECT_EQ(Deadline::after(2147483647).remainingMs(), INT_MAX);
}

}  // namespace
}  // namespace hccl
