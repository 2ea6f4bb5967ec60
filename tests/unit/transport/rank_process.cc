#include "tests/unit/transport/rank_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace hccl::transport {

RankProcess::RankProcess(const std::vector<std::string>& prefix) {
  int toChild[2], fromChild[2];
  if (::pipe2(toChild, O_CLOEXEC) != 0 || ::pipe2(fromChild, O_CLOEXEC) != 0) return;
  in_.reset(toChild[1]);
  out_.reset(fromChild[0]);
  std::vector<std::string> words = prefix;
  words.emplace_back(TRANSPORT_RANK);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, toChild[0], 0);
  posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1);
  posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(toChild[0]);
  ::close(fromChild[1]);
}

RankProcess::~RankProcess() {
  in_.reset();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

std::string RankProcess::run(const std::string& command) {
  const std::string line = command + "\n";
  if (::write(in_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) return "";
  for (;;) {
    const size_t end = buffered_.find('\n');
    if (end != std::string::npos) {
      std::string answer = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return answer;
    }
    char chunk[4096];
    const ssize_t got = ::read(out_.get(), chunk, sizeof chunk);
    if (got <= 0) return "";
    buffered_.append(chunk, static_cast<size_t>(got));
  }
}

void RankProcess::kill() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::vector<std::string> exchangeCards(const std::vector<Rank*>& ranks, const std::string& host) {
  std::vector<std::string> cards;
  for (size_t i = 0; i < ranks.size(); ++i) {
    cards.push_back(ranks[i]->run(fmt::format("endpoint {} {} 0", i, host)));
  }
  return cards;
}

std::string makeRankLinks(Rank* rank, const std::vector<std::string>& cards, uint32_t number,
                          const std::string& transports, const std::string& secret,
                          const std::string& name, int device, double timeout) {
  for (const auto& card : cards) rank->run("card " + card);
  return rank->run(fmt::format("links {} {} {} {} {} {}", name, secret, number,
                               device < 0 ? static_cast<int>(number) : device, transports,
                               timeout));
}

}  // namespace hccl::transport
