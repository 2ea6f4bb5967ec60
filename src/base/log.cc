// The only file that knows spdlog. Loggers are synchronous: a line is one write() under one lock,
// which keeps the log free of threads, of things to flush, and of trouble with fork() and exit().
#include "src/base/log.h"

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/formatter.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "src/base/clock.h"
#include "src/base/env_parser.h"
#include "src/base/log_file.h"

namespace hccl::log {
namespace {

std::atomic<unsigned> forkGeneration{0};

// The kernel's thread id, asked for once per thread and process.
pid_t threadId() {
  thread_local unsigned generation = ~0U;
  thread_local pid_t id = 0;
  const unsigned now = forkGeneration.load(std::memory_order_relaxed);
  if (generation != now) {
    generation = now;
    id = static_cast<pid_t>(::syscall(SYS_gettid));
  }
  return id;
}

std::string_view levelName(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return "DEBUG";
    case spdlog::level::info:
      return "INFO";
    case spdlog::level::warn:
      return "WARNING";
    case spdlog::level::err:
      return "ERROR";
    default:
      return "EVENT";
  }
}

spdlog::level::level_enum spdlogLevel(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    default:
      return spdlog::level::critical;
  }
}

// "[LEVEL] HCCL(pid,process):time [file.cc:line] [tid]message"
class PlogFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto us =
        std::chrono::duration_cast<std::chrono::microseconds>(message.time.time_since_epoch())
            .count();
    fmt::format_to(std::back_inserter(out), "[{}] HCCL({},{}):{} [{}:{}] [{}]{}\n",
                   levelName(message.level), ::getpid(), program_invocation_short_name,
                   wallClockText(static_cast<uint64_t>(us)), message.source.filename,
                   message.source.line, threadId(),
                   std::string_view(message.payload.data(), message.payload.size()));
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<PlogFormatter>();
  }
};

// Without a lock of its own: the log's lock is held.
class PlogSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  PlogSink(PlogFile file, bool toStdout)
      : base_sink(std::make_unique<PlogFormatter>()), file_(std::move(file)), toStdout_(toStdout) {}
  void abandon() { file_.abandon(); }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const std::string_view text(line.data(), line.size());
    if (!toStdout_) {
      file_.write(text);
    } else if (!writeLine(STDOUT_FILENO, text)) {
      complainOnce("cannot write to standard output", errno);
    }
  }
  void flush_() override {}

 private:
  PlogFile file_;
  bool toStdout_;
};

struct Output {
  std::shared_ptr<PlogSink> sink;
  std::unique_ptr<spdlog::logger> logger;

  void set(const Config& config, const char* folder) {
    const std::string directory = config.root.empty() ? "" : config.root + folder;
    sink = std::make_shared<PlogSink>(PlogFile(directory, config.maxFileBytes, config.maxFiles),
                                      config.toStdout);
    logger = std::make_unique<spdlog::logger>("HCCL", sink);
    logger->set_level(spdlog::level::trace);
    logger->set_error_handler([](const std::string& text) { complainOnce(text, 0); });
  }
};

struct State {
  std::mutex mutex;
  Config config;
  bool configured = false;
  Output run, debug;
};

// Never destroyed: a line may come from any thread until the process has ended.
State& state() {
  static auto* instance = new State;
  return *instance;
}

// The thread that forks holds the lock, so it must not wait for it in another fork handler.
thread_local bool inForkHandlers = false;

void beforeFork() {
  state().mutex.lock();
  inForkHandlers = true;
}
void afterForkInParent() {
  inForkHandlers = false;
  state().mutex.unlock();
}
void afterForkInChild() {
  State& s = state();
  forkGeneration.fetch_add(1, std::memory_order_relaxed);
  if (s.configured) {
    s.run.sink->abandon();
    s.debug.sink->abandon();
  }
  inForkHandlers = false;
  s.mutex.unlock();
}

void apply(State& s, const Config& config) {
  static const int registered = pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
  (void)registered;
  s.config = config;
  s.run.set(config, "/run/plog");
  s.debug.set(config, "/debug/plog");
  s.configured = true;
  debugThreshold.store(static_cast<int>(config.level), std::memory_order_relaxed);
}

void ensureConfigured(State& s) {
  if (!s.configured)
    apply(s, configFrom([](const char* name) -> const char* { return std::getenv(name); }));
}

std::optional<Level> parseLevel(std::string_view text) {
  const auto number = parseUnsigned(text, 0, 4);
  if (!number) return std::nullopt;
  return *number == 4 ? Level::kNone : static_cast<Level>(*number);
}

}  // namespace

Config configFrom(const char* (*lookup)(const char*)) {
  const auto get = [lookup](const char* name) -> std::string {
    const char* text = lookup(name);
    return text == nullptr ? "" : text;
  };
  Config config;
  config.root = get("ASCEND_PROCESS_LOG_PATH");
  if (const std::string home = get("HOME"); config.root.empty() && !home.empty()) {
    config.root = home + "/ascend/log";
  }
  if (const auto level = parseLevel(get("ASCEND_GLOBAL_LOG_LEVEL"))) config.level = *level;
  const std::string modules = get("ASCEND_MODULE_LOG_LEVEL");
  for (const std::string_view item : splitText(modules, ':')) {
    if (!item.starts_with("HCCL=")) continue;
    if (const auto level = parseLevel(item.substr(5))) config.level = *level;
  }
  config.toStdout = get("ASCEND_SLOG_PRINT_TO_STDOUT") == "1";
  if (const auto count = parseUnsigned(get("ASCEND_HOST_LOG_FILE_NUM"), 1, 1000)) {
    config.maxFiles = static_cast<unsigned>(*count);
  }
  return config;
}

void configure(const Config& config) {
  const std::lock_guard lock(state().mutex);
  apply(state(), config);
}

Config currentConfig() {
  const std::lock_guard lock(state().mutex);
  ensureConfigured(state());
  return state().config;
}

void write(Channel channel, Level level, const char* file, int line, fmt::string_view format,
           fmt::format_args args) noexcept {
  if (inForkHandlers) return;
  try {
    fmt::memory_buffer text;
    fmt::vformat_to(std::back_inserter(text), format, args);
    State& s = state();
    const std::lock_guard lock(s.mutex);
    ensureConfigured(s);
    if (channel == Channel::kDebug && !isEnabled(level)) return;
    const Output& output = channel == Channel::kRun ? s.run : s.debug;
    output.logger->log(spdlog::source_loc{file, line, ""}, spdlogLevel(level),
                       spdlog::string_view_t(text.data(), text.size()));
  } catch (...) {
    complainOnce("a log line could not be made", 0);
  }
}

}  // namespace hccl::log
