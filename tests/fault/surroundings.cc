#include "tests/fault/surroundings.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "tests/integration/support/job.h"
#include "tests/integration/support/rank.h"

namespace hccl::faults {
namespace {

using multirank::Rank;

struct Case {
  const char* name;
  std::map<std::string, std::string> environment;
  std::function<void(uint32_t)> prepare;
  const char* code;     // empty: the job has to do its work
  const char* mention;  // what the message has to name
};

// Some rounds of work; the first error is what the parent wants to see.
void work(Rank& rank) {
  const auto say = [&rank](int code) {
    if (code == 0) return true;
    rank.report(multirank::takeErrorText());
    return false;
  };
  aclrtStream stream = nullptr;
  if (!say(aclrtSetDevice(static_cast<int32_t>(rank.rank())))) return;
  if (!say(aclrtCreateStream(&stream))) return;
  HcclRootInfo info = {};
  std::string own;
  if (rank.rank() == 0) {
    if (!say(HcclGetRootInfo(&info))) return;
    own.assign(info.internal, sizeof info.internal);
  }
  const std::string root = rank.allGather(own)[0];
  __builtin_memcpy(info.internal, root.data(), sizeof info.internal);
  HcclComm comm = nullptr;
  if (!say(HcclCommInitRootInfo(rank.ranks(), &info, rank.rank(), &comm))) return;
  std::vector<float> data(1000, 1);
  for (int i = 0; i < 5; ++i) {
    if (!say(HcclAllReduce(data.data(), data.data(), 1000, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX,
                           comm, stream)) ||
        !say(aclrtSynchronizeStream(stream))) {
      break;
    }
  }
  HCCL_MUST(HcclCommDestroy(comm));
}

const multirank::RegisterBody body("work", work);

void limit(__rlimit_resource resource, rlim_t value) {
  const rlimit both{value, value};
  ::setrlimit(resource, &both);
}

// A /dev/shm of the process' own with no room.
void fillShm(uint32_t) {
  if (::unshare(CLONE_NEWNS) != 0) return;
  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4k,nr_inodes=2");
}

// A listening socket of this process on a free port of the loopback interface.
class Occupied {
 public:
  Occupied() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    (void)!::bind(fd_, plain, length);
    ::listen(fd_, 1);
    ::getsockname(fd_, plain, &length);
    port_ = ntohs(address.sin_port);
  }
  ~Occupied() { ::close(fd_); }
  Occupied(const Occupied&) = delete;
  Occupied& operator=(const Occupied&) = delete;
  std::string port() const { return std::to_string(port_); }

 private:
  int fd_;
  uint16_t port_ = 0;
};

std::vector<Case> cases(const std::string& takenPort) {
  const std::string local = "127.0.0.1";
  return {
      {"12 descriptors", {}, [](uint32_t) { limit(RLIMIT_NOFILE, 12); }, "EI0007", "ulimit -n"},
      {"root port taken",
       {{"HCCL_IF_IP", local}, {"HCCL_HOST_SOCKET_PORT_RANGE", takenPort}},
       {},
       "EI0019",
       ""},
      {"data port taken",
       {{"HCCL_IF_IP", local},
        {"HCCL_HOST_SOCKET_PORT_RANGE", "auto"},
        {"HCCL_NPU_SOCKET_PORT_RANGE", takenPort}},
       {},
       "EI0020",
       ""},
      {"no such interface", {{"HCCL_SOCKET_IFNAME", "=nosuch0"}}, {}, "EI0001", "nosuch0"},
      {"address of another host", {{"HCCL_IF_IP", "203.0.113.9"}}, {}, "EI00", "203.0.113.9"},
      {"no locked memory", {}, [](uint32_t) { limit(RLIMIT_MEMLOCK, 0); }, "", ""},
      {"full /dev/shm", {}, fillShm, "", ""},
      {"no room for logs", {{"ASCEND_PROCESS_LOG_PATH", "/dev/full/log"}}, {}, "", ""},
      {"read-only home", {{"ASCEND_PROCESS_LOG_PATH", ""}, {"HOME", "/proc"}}, {}, "", ""},
  };
}

std::string judge(const Case& row, const multirank::JobResult& result) {
  std::string all;
  for (const std::string& report : result.reports) all += report + "\n";
  if (!result.ok()) return result.text();
  if (*row.code == '\0') return all;  // empty: nobody complained
  if (all.find(row.code) == std::string::npos) {
    return std::string("no ") + row.code + ": " + all;
  }
  if (all.find(row.mention) == std::string::npos) {
    return std::string("does not name ") + row.mention + ": " + all;
  }
  return "";
}

}  // namespace

std::vector<Surrounding> runSurroundings(const std::string& only) {
  const Occupied occupied;
  std::vector<Surrounding> all;
  for (const Case& row : cases(occupied.port())) {
    if (std::string(row.name).find(only) == std::string::npos) continue;
    multirank::JobSpec spec;
    spec.body = "work";
    spec.ranks = 2;
    spec.launch = multirank::Launch::kProcesses;
    spec.environment = row.environment;
    spec.environment["HCCL_CONNECT_TIMEOUT"] = "10";
    spec.prepare = row.prepare;
    const multirank::JobResult result = multirank::runJob(spec);
    all.push_back({row.name, judge(row, result),
                   result.reports.empty() ? "the job did its work" : result.reports[0]});
  }
  return all;
}

}  // namespace hccl::faults
