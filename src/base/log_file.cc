#include "src/base/log_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "src/base/clock.h"

namespace hccl::log {
namespace {

constexpr mode_t kDirectoryMode = 0750;
constexpr mode_t kFileMode = 0640;

// mkdir -p; errno on failure.
bool makeDirectories(const std::string& path) {
  for (size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    if (::mkdir(path.substr(0, at).c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
      // A parent that may not be written but exists is no obstacle.
      struct stat info {};
      const int error = errno;
      if (::stat(path.substr(0, at).c_str(), &info) != 0) {
        errno = error;
        return false;
      }
    }
  }
  return true;
}

}  // namespace

bool writeLine(int fd, std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(fd, line.data(), line.size());
    if (written >= 0) {
      line.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return false;  // a full pipe (stdout) drops the line: the log never blocks on a reader
    }
  }
  return true;
}

void complainOnce(std::string_view what, int error) {
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return;
  const std::string line =
      error == 0 ? fmt::format("HCCL: {}; log lines are dropped\n", what)
                 : fmt::format("HCCL: {}: {}; log lines are dropped\n", what, std::strerror(error));
  writeLine(STDERR_FILENO, line);
}

bool PlogFile::open() {
  if (directory_.empty()) {
    complainOnce("no log directory, neither ASCEND_PROCESS_LOG_PATH nor HOME is set", 0);
    return false;
  }
  if (!makeDirectories(directory_)) {
    complainOnce("cannot make the log directory " + directory_, errno);
    return false;
  }
  // Rotation inside one millisecond meets its own name: the next stamp is free.
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const uint64_t stamp = wallClockUs() + static_cast<uint64_t>(attempt) * 1000;
    path_ = fmt::format("{}/plog-{}_{}.log", directory_, ::getpid(), wallClockFileStamp(stamp));
    fd_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, kFileMode));
    if (fd_) {
      made_.push_back(path_);
      bytes_ = 0;
      removeOldest();
      return true;
    }
    if (errno != EEXIST) break;
  }
  complainOnce("cannot make the log file " + path_, errno);
  return false;
}

void PlogFile::removeOldest() {
  while (made_.size() > maxFiles_) {
    ::unlink(made_.front().c_str());
    made_.pop_front();
  }
}

void PlogFile::write(std::string_view line) {
  if (hopeless_) return;
  if (!fd_ || (bytes_ > 0 && bytes_ + line.size() > maxBytes_)) {
    if (!open()) {
      hopeless_ = true;
      return;
    }
  }
  if (writeLine(fd_.get(), line)) {
    bytes_ += line.size();
  } else {
    complainOnce("cannot write the log file " + path_, errno);
  }
}

void PlogFile::abandon() {
  fd_.reset();
  path_.clear();
  made_.clear();
  bytes_ = 0;
}

}  // namespace hccl::log
