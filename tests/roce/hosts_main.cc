// One of two ranks on two hosts (tests/roce/two_guests): links between hosts, over a bad network,
// and over one that is cut. Argument: the rank. The two meet through files in /out/exchange.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "src/base/clock.h"
#include "tests/roce/rdma_facts.h"
#include "tests/unit/transport/rank_commands.h"

namespace hccl::transport {
namespace {

const std::string kFolder = "/out/exchange/";
int failures = 0;

void check(bool good, const std::string& what) {
  std::cout << (good ? "ok: " : "FAILED: ") << what << std::endl;
  if (!good) ++failures;
}

void put(const std::string& name, const std::string& text) {
  std::ofstream(kFolder + name + ".new") << text;
  std::rename((kFolder + name + ".new").c_str(), (kFolder + name).c_str());
}
// Waits for the other host's file.
std::string take(const std::string& name) {
  const Deadline deadline = Deadline::after(120);
  while (!deadline.expired()) {
    std::ifstream file(kFolder + name);
    if (file) {
      std::ostringstream text;
      text << file.rdbuf();
      return text.str();
    }
    ::usleep(50'000);
  }
  check(false, "the other host did not come to " + name);
  std::exit(1);
}

class Host {
 public:
  explicit Host(int number) : number_(number), other_(1 - number) {}

  void meet(const std::string& name) {
    put(fmt::format("{}.{}", name, number_), ".");
    take(fmt::format("{}.{}", name, other_));
  }

  void open(const std::string& name) {
    const std::string address = roce::usableDevice().address;
    check(!address.empty(), "an RDMA device with address " + address);
    const std::string own = rank_.run("endpoint 0 " + address + " 0");
    put(fmt::format("card-{}.{}", name, number_), own);
    const std::string theirs = take(fmt::format("card-{}.{}", name, other_));
    for (int i = 0; i < 2; ++i) rank_.run("card " + (i == number_ ? own : theirs));
    const std::string made = rank_.run(fmt::format("links {} secret {} 0 auto 60", name, number_));
    check(made == "ok", "links of " + name + ": " + made);
    const std::string connected = rank_.run(fmt::format("connect {} 0 60", other_));
    check(connected == "ok", "connect: " + connected);
    const std::string text = rank_.run(fmt::format("describe {} 0", other_));
    check(text.find("rdma: ") != std::string::npos, "RDMA between hosts: " + text);
  }

  bool exchange(size_t bytes, uint64_t sequence, int seconds = 60) {
    last_ = rank_.run(fmt::format("exchange {} 0 {} 5 {} {}", other_, bytes, sequence, seconds));
    return last_ == "ok";
  }

  void carry() {
    open("plain");
    uint64_t sequence = 0;
    bool good = true;
    for (const size_t bytes : {0, 8, 5000, 100000, 1 << 20}) good &= exchange(bytes, ++sequence);
    check(good, "frames between hosts: " + last_);
    meet("plain");
    check(std::system("tc qdisc add dev eth0 root netem loss 1% delay 1ms") == 0, "netem is on");
    meet("netem");
    good = true;
    for (int i = 0; i < 20; ++i) good = good && exchange(20000, ++sequence, 120);
    check(good, "1% of the packets lost, 1 ms delay: " + last_);
    std::system("tc qdisc del dev eth0 root");
    meet("lossless");
    rank_.run("destroy");
  }

  void cut() {
    open("cut");
    const bool before = exchange(1000, 1);
    check(before, "before the cut: " + last_);
    meet("before-cut");
    const uint64_t begin = monotonicNs();
    std::thread cutter;
    if (number_ == 1) {
      cutter = std::thread([] {
        ::usleep(300'000);
        (void)!std::system("tc qdisc add dev eth0 root netem loss 100%");
      });
    }
    uint64_t sequence = 1;
    while (exchange(100000, ++sequence, 25)) {
    }
    const double seconds = static_cast<double>(monotonicNs() - begin) * 1e-9;
    // Nothing that this host sends is acknowledged any more, or nothing that it acknowledges is
    // heard.
    check(last_.rfind(fmt::format("error 21 13 {} ", other_), 0) == 0 &&
              last_.find("error cqe status[12]") != std::string::npos,
          fmt::format("the cut is EI0013 and names the peer, after {:.1f} s: {}", seconds, last_));
    // Retry time of the settings below: 7 * 4.096 us * 2^16 = 1.9 s; a guest is slow.
    check(seconds < 15, "in time");
    if (cutter.joinable()) cutter.join();
    meet("cut-is-seen");
    if (number_ == 1) (void)!std::system("tc qdisc del dev eth0 root");
    const uint64_t leaving = monotonicNs();
    rank_.run("destroy");
    check(monotonicNs() - leaving < 10'000'000'000ULL, "the communicator ends");
    meet("after-cut");
    open("again");
    const bool works = exchange(1000, 1);
    check(works, "a new communicator works: " + last_);
    meet("end");
    rank_.run("destroy");
  }

 private:
  int number_, other_;
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
  host.cut();
  return hccl::transport::failures == 0 ? 0 : 1;
}
