// PlogFile: one channel's log file. Made at the first line, rotated at a size, the oldest removed.
// Writes go straight to the descriptor, so nothing is left to flush at exit, in a fork, or in a
// crash. Not thread-safe: the log holds its lock. Private to src/base/log*.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "src/base/fd.h"

namespace hccl::log {

class PlogFile {
 public:
  // `directory` is made when needed; empty: the lines are dropped.
  PlogFile(std::string directory, uint64_t maxBytes, unsigned maxFiles)
      : directory_(std::move(directory)), maxBytes_(maxBytes), maxFiles_(maxFiles) {}

  // Writes the line, or drops it when it cannot be written.
  void write(std::string_view line);
  // In a forked child: lets go of the parent's file; the next line makes one for this process.
  void abandon();
  const std::string& path() const { return path_; }

 private:
  bool open();
  void removeOldest();

  std::string directory_;
  uint64_t maxBytes_;
  unsigned maxFiles_;
  UniqueFd fd_;
  std::string path_;
  std::deque<std::string> made_;
  uint64_t bytes_ = 0;
  bool hopeless_ = false;  // the directory or the file cannot be made
};

// Writes all of `line` to `fd`; false (and errno) when it could not.
bool writeLine(int fd, std::string_view line);
// Says once in this process, on stderr, why log lines are lost.
void complainOnce(std::string_view what, int error);

}  // namespace hccl::log
