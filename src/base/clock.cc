#include "src/base/clock.h"

#include <fmt/core.h>

namespace hccl {
namespace {

tm localTime(uint64_t us) {
  const auto seconds = static_cast<time_t>(us / 1000000);
  tm parts{};
  localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

uint64_t wallClockUs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

std::string wallClockText(uint64_t us) {
  const tm t = localTime(us);
  return fmt::format("{:04}-{:02}-{:02}-{:02}:{:02}:{:02}.{:03}.{:03}", t.tm_year + 1900,
                     t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, us / 1000 % 1000,
                     us % 1000);
}

std::string wallClockFileStamp(uint64_t us) {
  const tm t = localTime(us);
  return fmt::format("{:04}{:02}{:02}{:02}{:02}{:02}{:03}", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, us / 1000 % 1000);
}

}  // namespace hccl
