#include "tests/integration/support/job.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

#include "tests/integration/support/rank.h"

extern char** environ;

namespace hccl::multirank {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMessageBytes = 64 << 10;

std::map<std::string, Body>& bodies() {
  static std::map<std::string, Body> all;
  return all;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

void runRank(const Body& body, Rank& rank) {
  try {
    body(rank);
  } catch (const JobAborted&) {
  } catch (const std::exception& error) {
    rank.fail(error.what());
  }
}

// "--job body ranks first fd,fd,... arguments...": the ranks `first`, `first` + 1, ... live here.
[[noreturn]] void runRanks(int argc, char** argv) {
  const Body body = bodies().at(argv[2]);
  const auto ranks = static_cast<uint32_t>(std::stoul(argv[3]));
  const auto first = static_cast<uint32_t>(std::stoul(argv[4]));
  const std::vector<std::string> sockets = split(argv[5], ',');
  const std::vector<std::string> arguments(argv + 6, argv + argc);
  for (const std::string& socket : sockets) ::fcntl(std::stoi(socket), F_SETFD, FD_CLOEXEC);
  const auto run = [&](uint32_t i) {
    const int socket = std::stoi(sockets[i]);
    Rank rank(first + i, ranks, socket, arguments);
    runRank(body, rank);
    ::shutdown(socket, SHUT_RDWR);
  };
  if (sockets.size() == 1) {
    run(0);
  } else {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < sockets.size(); ++i) threads.emplace_back(run, i);
    for (std::thread& thread : threads) thread.join();
  }
  std::exit(0);
}

std::vector<std::string> childEnvironment(const JobSpec& spec, const std::string& folder) {
  std::map<std::string, std::string> values = {
      {"HCCL_HOST_DEVICES", std::to_string(std::max(spec.ranks, 1U))},
      {"HCCL_BUFFSIZE", "1"},
      {"HCCL_CONNECT_TIMEOUT", "60"},
      {"HCCL_EXEC_TIMEOUT", "60"},
      {"ASCEND_PROCESS_LOG_PATH", folder + "/log"},
  };
  for (const auto& [name, value] : spec.environment) values[name] = value;
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool kept = name.rfind("HCCL_TEST_", 0) == 0;
    const bool dropped =
        name.rfind("HCCL_", 0) == 0 || name.rfind("CM_", 0) == 0 || name.rfind("ASCEND_", 0) == 0;
    if ((kept || !dropped) && !values.contains(name)) all.push_back(text);
  }
  for (const auto& [name, value] : values) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

bool endsWithin(pid_t process, int64_t milliseconds) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (fd < 0) return true;  // waitpid tells
  pollfd wait = {fd, POLLIN, 0};
  const int ready = ::poll(&wait, 1, static_cast<int>(milliseconds));
  ::close(fd);
  return ready > 0;
}

}  // namespace

RegisterBody::RegisterBody(const char* name, Body body) {
  bodies()[name] = std::move(body);
}

void runIfPartOfJob(int argc, char** argv) {
  if (argc >= 6 && std::string(argv[1]) == "--job") runRanks(argc, argv);
}

const char* nameOf(Launch launch) {
  return launch == Launch::kThreads ? "threads" : "processes";
}

uint32_t divisor() {
  const char* text = std::getenv("HCCL_TEST_DIVISOR");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

bool fullProduct() {
  const char* text = std::getenv("HCCL_TEST_FULL");
  return text != nullptr && std::string(text) == "1";
}

std::string JobResult::text() const {
  std::string all;
  for (const std::string& failure : failures) all += failure + "\n";
  return all;
}

struct Job::State {
  struct Peer {
    int socket = -1;
    bool open = true;
    bool waiting = false;  // inside allGather
    std::string bytes;
    std::string note = "nothing yet";
  };

  JobSpec spec;
  std::string folder;
  std::vector<pid_t> processes;  // 0 once it has ended
  std::vector<Peer> peers;
  JobResult result;
  bool gone = false;  // a rank ended: who waits for it is told
  Clock::time_point deadline;

  void start();
  void startProcess(uint32_t first, const std::vector<int>& childSockets);
  bool serve(const std::function<bool()>& until);
  void receive(uint32_t rank);
  void answer();
  void reap();
  void kill(int signal);
};

void Job::State::start() {
  char name[] = "/tmp/hccl-multirank-XXXXXX";
  if (::mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp failed");
  folder = name;
  deadline = Clock::now() + spec.limit;
  peers.resize(spec.ranks);
  std::vector<int> childSockets(spec.ranks);
  for (uint32_t r = 0; r < spec.ranks; ++r) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
      throw std::runtime_error("socketpair failed");
    }
    peers[r].socket = pair[0];
    childSockets[r] = pair[1];
  }
  if (spec.launch == Launch::kThreads) {
    startProcess(0, childSockets);
  } else {
    for (uint32_t r = 0; r < spec.ranks; ++r) startProcess(r, {childSockets[r]});
  }
  for (int socket : childSockets) ::close(socket);
}

void Job::State::startProcess(uint32_t first, const std::vector<int>& childSockets) {
  std::string sockets;
  for (int socket : childSockets) sockets += (sockets.empty() ? "" : ",") + std::to_string(socket);
  std::vector<std::string> arguments = {
      "/proc/self/exe",      "--job", spec.body, std::to_string(spec.ranks),
      std::to_string(first), sockets};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<std::string> environment = childEnvironment(spec, folder);
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> envp = pointers(environment);
  std::cout.flush();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    for (int socket : childSockets) ::fcntl(socket, F_SETFD, 0);
    if (spec.prepare) spec.prepare(first);
    ::execve("/proc/self/exe", argv.data(), envp.data());
    ::_exit(127);
  }
  processes.push_back(child);
}

void Job::State::receive(uint32_t rank) {
  Peer& peer = peers[rank];
  std::string message(kMessageBytes, '\0');
  const ssize_t got = ::recv(peer.socket, message.data(), message.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    peer.open = false;
    gone = true;
    return;
  }
  message.resize(static_cast<size_t>(got));
  const std::string text = message.substr(1);
  switch (message[0]) {
    case 'G':
      peer.waiting = true;
      peer.bytes = text;
      break;
    case 'N':
      peer.note = text;
      break;
    case 'R':
      result.reports.push_back(text);
      break;
    default:
      result.failures.push_back("rank " + std::to_string(rank) + ": " + text);
  }
}

// Answers the ranks in allGather: 'G' and all bytes when all are there, 'A' when one will never be.
void Job::State::answer() {
  size_t waiting = 0;
  for (const Peer& peer : peers) waiting += peer.waiting ? 1 : 0;
  if (waiting == 0 || (!gone && waiting < peers.size())) return;
  std::string message = gone ? "A" : "G";
  if (!gone) {
    for (const Peer& peer : peers) {
      const auto size = static_cast<uint32_t>(peer.bytes.size());
      message.append(reinterpret_cast<const char*>(&size), sizeof(size));
      message += peer.bytes;
    }
  }
  for (Peer& peer : peers) {
    if (!peer.waiting) continue;
    peer.waiting = false;
    (void)!::send(peer.socket, message.data(), message.size(), MSG_NOSIGNAL);
  }
}

bool Job::State::serve(const std::function<bool()>& until) {
  while (!until()) {
    std::vector<pollfd> waits;
    std::vector<uint32_t> ranks;
    for (uint32_t r = 0; r < peers.size(); ++r) {
      if (!peers[r].open) continue;
      waits.push_back({peers[r].socket, POLLIN, 0});
      ranks.push_back(r);
    }
    if (waits.empty()) return until();
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      std::string text = "the job was ended after " + std::to_string(spec.limit.count()) + " s; ";
      for (uint32_t r : ranks)
        text += "rank " + std::to_string(r) + " was at [" + peers[r].note + "] ";
      result.failures.push_back(text);
      return false;
    }
    ::poll(waits.data(), waits.size(), static_cast<int>(std::min<int64_t>(left, 1000)));
    for (size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents != 0) receive(ranks[i]);
    }
    answer();
  }
  return true;
}

void Job::State::reap() {
  for (pid_t& process : processes) {
    if (process == 0) continue;
    const std::string name = "process " + std::to_string(process);
    // A process whose ranks have ended gets what is left of the time, but 10 s at least.
    const auto left = std::max<int64_t>(
        10000,
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count());
    if (!endsWithin(process, left)) {
      result.failures.push_back(name + " did not exit after its ranks had ended");
      ::kill(process, SIGKILL);
    }
    int status = 0;
    ::waitpid(process, &status, 0);
    process = 0;
    if (WIFSIGNALED(status)) {
      result.failures.push_back(name + " was ended by signal " + std::to_string(WTERMSIG(status)));
    } else if (WEXITSTATUS(status) != 0) {
      result.failures.push_back(name + " exited with " + std::to_string(WEXITSTATUS(status)));
    }
  }
}

void Job::State::kill(int signal) {
  for (const pid_t process : processes) {
    if (process != 0) ::kill(process, signal);
  }
  for (pid_t& process : processes) {
    if (process != 0) ::waitpid(process, nullptr, 0);
    process = 0;
  }
}

Job::Job(JobSpec spec) : state_(std::make_unique<State>()) {
  state_->spec = std::move(spec);
  state_->start();
}

Job::~Job() {
  state_->kill(SIGKILL);
  for (State::Peer& peer : state_->peers) ::close(peer.socket);
  std::error_code ignored;
  if (std::getenv("HCCL_TEST_KEEP_LOGS") == nullptr) {
    std::filesystem::remove_all(state_->folder, ignored);
  } else {
    std::cout << "logs of " << state_->spec.body << ": " << state_->folder << std::endl;
  }
}

JobResult Job::wait() {
  State& s = *state_;
  const bool ended = s.serve([&s] {
    for (const State::Peer& peer : s.peers) {
      if (peer.open) return false;
    }
    return true;
  });
  if (ended) {
    s.reap();
  } else {
    s.kill(SIGKILL);
  }
  return s.result;
}

bool Job::waitForReports(size_t reports) {
  State& s = *state_;
  return s.serve([&] { return s.result.reports.size() >= reports; });
}

void Job::kill(int signal) {
  state_->kill(signal);
}

const std::vector<pid_t>& Job::processes() const {
  return state_->processes;
}

JobResult runJob(const JobSpec& spec) {
  Job job(spec);
  return job.wait();
}

}  // namespace hccl::multirank
