// Ranks for tests: inside this process, or each in a process of its own.
#pragma once

#include <sys/types.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "src/base/fd.h"
#include "tests/unit/transport/rank_commands.h"

namespace hccl::transport {

class Rank {
 public:
  virtual ~Rank() = default;
  virtual std::string run(const std::string& command) = 0;
  std::future<std::string> start(const std::string& command) {
    return std::async(std::launch::async, [this, command] { return run(command); });
  }
};

class LocalRank final : public Rank {
 public:
  std::string run(const std::string& command) override { return commands_.run(command); }
  RankCommands& commands() { return commands_; }

 private:
  RankCommands commands_;
};

// A child process that runs transport_rank; `prefix` may put words in front of it (a network
// namespace).
class RankProcess final : public Rank {
 public:
  explicit RankProcess(const std::vector<std::string>& prefix = {});
  ~RankProcess() override;
  // "" when the process has ended.
  std::string run(const std::string& command) override;
  pid_t pid() const { return pid_; }
  void kill();  // -9, and waits for its end

 private:
  pid_t pid_ = -1;
  UniqueFd in_, out_;
  std::string buffered_;
};

// Each rank tells its endpoint; all cards in order of rank.
std::vector<std::string> exchangeCards(const std::vector<Rank*>& ranks,
                                       const std::string& host = "127.0.0.1");
// Gives the cards to a rank and makes its Links.
std::string makeRankLinks(Rank* rank, const std::vector<std::string>& cards, uint32_t number,
                          const std::string& transports = "auto",
                          const std::string& secret = "secret", const std::string& name = "comm",
                          int device = -1, double timeout = 20);

}  // namespace hccl::transport
