// One of two ranks on two hosts (tests/roce/two_guests): links between hosts, over a bad network,
// and over one that is cut. Argument: the rank. The two meet through files in /out/exchange.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "src/base/clock.h"
#include "tests/roce/host_meeting.h"
#include "tests/roce/rdma_facts.h"
#include "tests/unit/transport/rank_commands.h"

namespace hccl::transport {
namespace {

class Host {
 public:
  explicit Host(int number) : number_(number), other_(1 - number), meeting_(number, "links") {}

  bool good() const { return meeting_.good(); }

  void open(const std::string& name) {
    const std::string address = roce::usableDevice().address;
    meeting_.check(!address.empty(), "an RDMA device with address " + address);
    const std::string own = rank_.run("endpoint 0 " + address + " 0");
    meeting_.put("card-" + name, own);
    const std::string theirs = meeting_.take("card-" + name);
    for (int i = 0; i < 2; ++i) rank_.run("card " + (i == number_ ? own : theirs));
    const std::string made = rank_.run(fmt::format("links {} secret {} 0 auto 60", name, number_));
    meeting_.check(made == "ok", "links of " + name + ": " + made);
    const std::string connected = rank_.run(fmt::format("connect {} 0 60", other_));
    meeting_.check(connected == "ok", "connect: " + connected);
    const std::string text = rank_.run(fmt::format("describe {} 0", other_));
    meeting_.check(text.find("rdma: ") != std::string::npos, "RDMA between hosts: " + text);
  }

  bool exchange(size_t bytes, uint64_t sequence, int seconds = 60,
                const std::string& command = "exchange") {
    last_ = rank_.run(fmt::format("{} {} 0 {} 5 {} {}", command, other_, bytes, sequence, seconds));
    return last_ == "ok";
  }

  void carry() {
    open("plain");
    uint64_t sequence = 0;
    bool good = true;
    for (const size_t bytes : {0, 8, 5000, 100000, 1 << 20}) {
      good &= exchange(bytes, ++sequence);
      good &= exchange(bytes, ++sequence, 60, "exchange-device");
    }
    meeting_.check(good, "frames between hosts: " + last_);
    meeting_.meet("plain");
    meeting_.check(std::system("tc qdisc add dev eth0 root netem loss 1% delay 1ms") == 0,
                   "netem is on");
    meeting_.meet("netem");
    good = true;
    for (int i = 0; i < 20; ++i) good = good && exchange(20000, ++sequence, 120);
    good = good && exchange(300000, ++sequence, 120, "exchange-device");
    meeting_.check(good, "1% of the packets lost, 1 ms delay: " + last_);
    std::system("tc qdisc del dev eth0 root");
    meeting_.meet("lossless");
    rank_.run("destroy");
  }

  // In the middle of frames that go through cells, or are written directly.
  void cut(const std::string& command, size_t bytes) {
    open("cut-" + command);
    const bool before = exchange(1000, 1);
    meeting_.check(before, "before the cut: " + last_);
    meeting_.meet("before-" + command);
    const uint64_t begin = monotonicNs();
    std::thread cutter;
    if (number_ == 1) {
      cutter = std::thread([] {
        ::usleep(300'000);
        (void)!std::system("tc qdisc add dev eth0 root netem loss 100%");
      });
    }
    uint64_t sequence = 1;
    while (exchange(bytes, ++sequence, 25, command)) {
    }
    const double seconds = static_cast<double>(monotonicNs() - begin) * 1e-9;
    // Nothing that this host sends is acknowledged any more, or nothing that it acknowledges is
    // heard.
    meeting_.check(
        last_.rfind(fmt::format("error 21 13 {} ", other_), 0) == 0 &&
            last_.find("error cqe status[12]") != std::string::npos,
        fmt::format("the cut is EI0013 and names the peer, after {:.1f} s: {}", seconds, last_));
    // Retry time of the settings below: 7 * 4.096 us * 2^16 = 1.9 s; a guest is slow.
    meeting_.check(seconds < 15, "in time");
    if (cutter.joinable()) cutter.join();
    meeting_.meet("seen-" + command);
    if (number_ == 1) (void)!std::system("tc qdisc del dev eth0 root");
    const uint64_t leaving = monotonicNs();
    rank_.run("destroy");
    meeting_.check(monotonicNs() - leaving < 10'000'000'000ULL, "the communicator ends");
    meeting_.meet("after-" + command);
    open("again-" + command);
    const bool works = exchange(1000, 1);
    meeting_.check(works, "a new communicator works: " + last_);
    meeting_.meet("end-" + command);
    rank_.run("destroy");
  }

 private:
  int number_, other_;
  roce::Meeting meeting_;
  RankCommands rank_;
  std::string last_;
};

}  // namespace
}  // namespace hccl::transport

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ::setenv("HCCL_RDMA_TIMEOUT", "16", 1);
  hccl::transport::Host host(std::atoi(argv[1]));
  host.carry();
  host.cut("exchange", 100000);
  host.cut("exchange-device", 500000);
  return host.good() ? 0 : 1;
}
