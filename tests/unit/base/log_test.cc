#include "src/base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>

namespace hccl {
namespace {

namespace fs = std::filesystem;

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "hccl_log_XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override {
    log::configure({});
    fs::remove_all(root_);
  }
  log::Config config(log::Level level = log::Level::kError) const {
    log::Config result;
    result.root = root_;
    result.level = level;
    return result;
  }
  std::vector<fs::path> files(const char* channel) const {
    std::vector<fs::path> found;
    const fs::path folder = fs::path(root_) / channel / "plog";
    if (!fs::exists(folder)) return found;
    for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }
  std::string content(const char* channel) const {
    std::ostringstream all;
    for (const fs::path& path : files(channel)) all << std::ifstream(path).rdbuf();
    return all.str();
  }

  std::string root_;
};

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

TEST_F(LogTest, LineFormatAndFileName) {
  log::configure(config());
  HCCL_RUN_INFO("[HCCL_ENV] value {} of {}", 7, "name");
  const auto run = files("run");
  ASSERT_EQ(run.size(), 1u);
  const std::string pid = std::to_string(::getpid());
  EXPECT_TRUE(
      std::regex_match(run[0].filename().string(), std::regex("plog-" + pid + "_[0-9]{17}\\.log")));
  EXPECT_TRUE(std::regex_match(
      content("run"),
      std::regex("\\[INFO\\] HCCL\\(" + pid +
                 ",base_log_test\\):[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}:[0-9]{2}:[0-9]{2}\\."
                 "[0-9]{3}\\.[0-9]{3} \\[log_test\\.cc:[0-9]+\\] \\[" +
                 pid + "\\]\\[HCCL_ENV\\] value 7 of name\n")))
      << content("run");
  EXPECT_TRUE(files("debug").empty()) << "files are made by their first line";
}

TEST_F(LogTest, LevelsGoToTheirChannels) {
  log::configure(config(log::Level::kWarning));
  HCCL_DEBUG("debug line");
  HCCL_INFO("info line");
  HCCL_WARNING("warning line");
  HCCL_ERROR("error line");
  HCCL_RUN_WARNING("run warning");
  HCCL_RUN_EVENT("run event");
  const std::string debug = content("debug");
  EXPECT_EQ(count(debug, "\n"), 2);
  EXPECT_EQ(count(debug, "[WARNING] HCCL("), 1);
  EXPECT_EQ(count(debug, "[ERROR] HCCL("), 1);
  const std::string run = content("run");
  EXPECT_EQ(count(run, "[WARNING] HCCL("), 1);
  EXPECT_EQ(count(run, "[EVENT] HCCL("), 1);
}

TEST_F(LogTest, DisabledLinesDoNotEvaluateTheirArguments) {
  log::configure(config(log::Level::kError));
  int evaluated = 0;
  HCCL_DEBUG("{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  HCCL_ERROR("{}", ++evaluated);
  EXPECT_EQ(evaluated, 1);
  log::configure(config(log::Level::kNone));
  HCCL_ERROR("{}", ++evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST_F(LogTest, VariablesToConfig) {
  static std::map<std::string, std::string> vars;
  const auto from = [](std::map<std::string, std::string> values) {
    vars = std::move(values);
    return log::configFrom([](const char* name) -> const char* {
      const auto found = vars.find(name);
      return found == vars.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_EQ(from({}).root, "");
  EXPECT_EQ(from({{"HOME", "/home/me"}}).root, "/home/me/ascend/log");
  EXPECT_EQ(from({{"HOME", "/home/me"}, {"ASCEND_PROCESS_LOG_PATH", "/logs"}}).root, "/logs");
  EXPECT_EQ(from({}).level, log::Level::kError);
  EXPECT_EQ(from({{"ASCEND_GLOBAL_LOG_LEVEL", "0"}}).level, log::Level::kDebug);
  EXPECT_EQ(from({{"ASCEND_GLOBAL_LOG_LEVEL", "4"}}).level, log::Level::kNone);
  EXPECT_EQ(from({{"ASCEND_GLOBAL_LOG_LEVEL", "5"}}).level, log::Level::kError);
  EXPECT_EQ(from({{"ASCEND_GLOBAL_LOG_LEVEL", "0"}, {"ASCEND_MODULE_LOG_LEVEL", "HCCL=2"}}).level,
            log::Level::kWarning);
  EXPECT_EQ(from({{"ASCEND_MODULE_LOG_LEVEL", "RUNTIME=3:HCCL=1"}}).level, log::Level::kInfo);
  EXPECT_EQ(from({{"ASCEND_MODULE_LOG_LEVEL", "RUNTIME=0"}}).level, log::Level::kError);
  EXPECT_TRUE(from({{"ASCEND_SLOG_PRINT_TO_STDOUT", "1"}}).toStdout);
  EXPECT_FALSE(from({{"ASCEND_SLOG_PRINT_TO_STDOUT", "0"}}).toStdout);
  EXPECT_EQ(from({{"ASCEND_HOST_LOG_FILE_NUM", "3"}}).maxFiles, 3u);
  EXPECT_EQ(from({{"ASCEND_HOST_LOG_FILE_NUM", "0"}}).maxFiles, 10u);
}

TEST_F(LogTest, RotationKeepsTheNewestFiles) {
  log::Config small = config();
  small.maxFileBytes = 2000;
  small.maxFiles = 3;
  log::configure(small);
  for (int i = 0; i < 200; ++i) HCCL_RUN_INFO("line {:04} {}", i, std::string(100, '.'));
  const auto run = files("run");
  EXPECT_EQ(run.size(), 3u);
  for (const fs::path& path : run) EXPECT_LE(fs::file_size(path), 2000u);
  const std::string text = content("run");
  EXPECT_EQ(count(text, "line 0199"), 1);
  EXPECT_EQ(count(text, "line 0000"), 0);
}

TEST_F(LogTest, PrintsToStdout) {
  log::Config toStdout = config();
  toStdout.toStdout = true;
  log::configure(toStdout);
  ::testing::internal::CaptureStdout();
  HCCL_RUN_INFO("on the screen");
  HCCL_ERROR("this too");
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(count(text, "on the screen\n"), 1);
  EXPECT_EQ(count(text, "this too\n"), 1);
  EXPECT_TRUE(files("run").empty());
}

// Each in a process of its own, because the complaint comes once per process.
TEST_F(LogTest, UnusableDirectoryCostsOneLineOnStderr) {
  const std::string file = root_ + "/a_file";
  std::ofstream(file) << "x";
  const auto run = [&] {
    log::Config blocked = config();
    blocked.root = file;  // no directory can be made below a file, not even by root
    log::configure(blocked);
    for (int i = 0; i < 5; ++i) {
      HCCL_RUN_INFO("lost");
      HCCL_ERROR("lost");
    }
    ::_exit(0);
  };
  EXPECT_EXIT(
      run(), ::testing::ExitedWithCode(0),
      "^HCCL: cannot make the log directory .*a_file/run/plog: Not a directory; log lines are "
      "dropped\n$");
}

TEST_F(LogTest, FullDiskDropsLines) {
  const auto run = [&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{400, 400};  // write() fails with EFBIG, as it would with ENOSPC
    ::setrlimit(RLIMIT_FSIZE, &limit);
    log::configure(config());
    for (int i = 0; i < 10; ++i) HCCL_RUN_INFO("line {} {}", i, std::string(100, '.'));
    ::_exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0),
              "^HCCL: cannot write the log file .*: File too large; log lines are dropped\n$");
  EXPECT_EQ(count(content("run"), "line 0"), 1);
}

TEST_F(LogTest, NoHomeNoFile) {
  const auto run = [] {
    ::unsetenv("HOME");
    ::unsetenv("ASCEND_PROCESS_LOG_PATH");
    log::configure(log::configFrom([](const char*) -> const char* { return nullptr; }));
    HCCL_RUN_INFO("lost");
    ::_exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "^HCCL: no log directory.*dropped\n$");
}

TEST_F(LogTest, ThreadsDoNotMixLines) {
  log::configure(config());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 250; ++i) HCCL_RUN_INFO("thread {} line {} end", t, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream lines(content("run"));
  const std::regex whole("\\[INFO\\] .*\\]thread [0-3] line [0-9]+ end");
  int n = 0;
  for (std::string line; std::getline(lines, line); ++n) {
    EXPECT_TRUE(std::regex_match(line, whole)) << line;
  }
  EXPECT_EQ(n, 1000);
}

TEST_F(LogTest, ForkedChildWritesItsOwnFile) {
  log::configure(config());
  HCCL_RUN_INFO("parent before");
  std::atomic<bool> stop{false};
  std::atomic<int> written{0};
  // Another thread holds the lock at any moment: the child must not find it taken.
  std::thread writer([&] {
    while (!stop) {
      HCCL_ERROR("busy");
      ++written;
    }
  });
  while (written == 0) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      HCCL_RUN_INFO("child line");
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  writer.join();
  HCCL_RUN_INFO("parent after");
  const std::string own = "plog-" + std::to_string(::getpid()) + "_";
  int ofParent = 0, ofChildren = 0;
  for (const fs::path& path : files("run")) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    if (path.filename().string().starts_with(own)) {
      ++ofParent;
      EXPECT_EQ(count(text.str(), "parent before"), 1);
      EXPECT_EQ(count(text.str(), "parent after"), 1);
      EXPECT_EQ(count(text.str(), "child line"), 0);
    } else {
      ++ofChildren;
      EXPECT_EQ(count(text.str(), "\n"), 1);
    }
  }
  EXPECT_EQ(ofParent, 1);
  EXPECT_EQ(ofChildren, 20);
}

// Lines from destructors that run after main(), in whatever order, arrive.
TEST_F(LogTest, LinesAtExitArrive) {
  const auto run = [&] {
    log::configure(config());
    std::atexit([] { HCCL_RUN_INFO("from atexit"); });
    struct Late {
      ~Late() { HCCL_RUN_INFO("from a destructor"); }
    };
    static Late late;
    std::exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(count(content("run"), "from atexit"), 1);
  EXPECT_EQ(count(content("run"), "from a destructor"), 1);
}

TEST_F(LogTest, FilesCloseOnExec) {
  log::configure(config());
  HCCL_RUN_INFO("open");
  bool found = false;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (fs::read_symlink(entry.path(), error).string().find(root_) == std::string::npos) continue;
    found = true;
    EXPECT_NE(::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace hccl
