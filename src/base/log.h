// HCCL's log: "[LEVEL] HCCL(pid,process):time [file.cc:line] [tid]message".
// Run lines (environment, entries, key information) always go to <root>/run/plog/, the others by
// level to <root>/debug/plog/, where <root> is ASCEND_PROCESS_LOG_PATH or $HOME/ascend/log. Formats
// are fmt's
// ("{}"), checked at compile time. A disabled line costs one relaxed load and a branch. Logging
// never fails the caller: a directory that cannot be written costs one line on stderr.
#pragma once

#include <fmt/core.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace hccl::log {

enum class Level : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kEvent = 4, kNone = 5 };
enum class Channel { kRun, kDebug };

// Lowest level that the debug channel writes; -1 until the variables were read at the first line.
inline constinit std::atomic<int> debugThreshold{-1};

inline bool isEnabled(Level level) {
  return static_cast<int>(level) >= debugThreshold.load(std::memory_order_relaxed);
}

void write(Channel channel, Level level, const char* file, int line, fmt::string_view format,
           fmt::format_args args) noexcept;

template <typename... Args>
void print(Channel channel, Level level, const char* file, int line,
           fmt::format_string<Args...> format, Args&&... args) noexcept {
  write(channel, level, file, line, format, fmt::make_format_args(args...));
}

// What the ASCEND_* variables say.
struct Config {
  std::string root;  // directory that holds run/ and debug/; empty: no file
  Level level = Level::kError;
  bool toStdout = false;
  uint64_t maxFileBytes = 20ULL << 20;
  unsigned maxFiles = 10;  // per channel and process; the oldest is removed
};
// Reads the variables through `lookup` (getenv-like: nullptr when unset). Illegal values count as
// unset.
Config configFrom(const char* (*lookup)(const char*));
// Replaces the configuration and closes the current files (tests; a changed level at run time).
void configure(const Config& config);
Config currentConfig();

}  // namespace hccl::log

#define HCCL_LOG_RUN(level, ...) \
  ::hccl::log::print(::hccl::log::Channel::kRun, level, __FILE_NAME__, __LINE__, __VA_ARGS__)
#define HCCL_LOG_DEBUG(level, ...)                                                     \
  do {                                                                                 \
    if (::hccl::log::isEnabled(level))                                                 \
      ::hccl::log::print(::hccl::log::Channel::kDebug, level, __FILE_NAME__, __LINE__, \
                         __VA_ARGS__);                                                 \
  } while (false)

// Always written to run/plog.
#define HCCL_RUN_INFO(...) HCCL_LOG_RUN(::hccl::log::Level::kInfo, __VA_ARGS__)
#define HCCL_RUN_WARNING(...) HCCL_LOG_RUN(::hccl::log::Level::kWarning, __VA_ARGS__)
#define HCCL_RUN_EVENT(...) HCCL_LOG_RUN(::hccl::log::Level::kEvent, __VA_ARGS__)
// By level to debug/plog.
#define HCCL_ERROR(...) HCCL_LOG_DEBUG(::hccl::log::Level::kError, __VA_ARGS__)
#define HCCL_WARNING(...) HCCL_LOG_DEBUG(::hccl::log::Level::kWarning, __VA_ARGS__)
#define HCCL_INFO(...) HCCL_LOG_DEBUG(::hccl::log::Level::kInfo, __VA_ARGS__)
#define HCCL_DEBUG(...) HCCL_LOG_DEBUG(::hccl::log::Level::kDebug, __VA_ARGS__)
