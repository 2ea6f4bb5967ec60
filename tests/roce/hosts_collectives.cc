// One of two ranks on two hosts (tests/roce/two_guests), through the C interface: communicators by
// root information and by rank table, over a good, a bad and a cut network. Argument: the rank.
#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "hccl/hccl.h"
#include "tests/roce/host_meeting.h"
#include "tests/roce/rdma_facts.h"

namespace {

using hccl::roce::Meeting;

class Program {
 public:
  explicit Program(int rank) : meeting_(rank, "api"), rank_(static_cast<uint32_t>(rank)) {}

  int run() {
    must(aclInit(nullptr), "aclInit");
    must(aclrtSetDevice(0), "aclrtSetDevice");
    must(aclrtCreateStream(&stream_), "aclrtCreateStream");
    // Small enough for many messages, with a part that is no multiple of anything.
    for (void** buffer : {&in_, &out_}) {
      must(aclrtMalloc(buffer, kMost * 2 * sizeof(int32_t), ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    }
    const hccl::roce::DeviceFacts device = hccl::roce::usableDevice();
    const uint64_t before = device.sentPackets();

    HcclComm comm = byRootInfo("root-info");
    everything(comm, "root information");
    meeting_.check(device.sentPackets() - before >= 3 * kMost * 4 / 4096,
                   "the bytes went through " + device.device);
    meeting_.check(Meeting::run("tc qdisc add dev eth0 root netem loss 1% delay 1ms"),
                   "netem is on");
    meeting_.meet("netem");
    allReduce(comm, 5000, "AllReduce with 1% loss and 1 ms delay");
    allGather(comm, 2500, "AllGather with 1% loss and 1 ms delay");
    meeting_.check(Meeting::run("tc qdisc del dev eth0 root"), "netem is off");
    meeting_.meet("lossless");
    must(HcclCommDestroy(comm), "HcclCommDestroy");

    comm = byRankTable();
    everything(comm, "a rank table");
    must(HcclCommDestroy(comm), "HcclCommDestroy");

    comm = byRootInfo("to-be-cut");
    allReduce(comm, 1000, "AllReduce before the cut");
    cut(comm);
    comm = byRootInfo("after-cut");
    allReduce(comm, 1000, "AllReduce of a new communicator");
    must(HcclCommDestroy(comm), "HcclCommDestroy");
    meeting_.meet("end");
    must(aclrtDestroyStream(stream_), "aclrtDestroyStream");
    must(aclFinalize(), "aclFinalize");
    return meeting_.good() ? 0 : 1;
  }

 private:
  static constexpr size_t kMost = 100003;

  template <typename Code>
  void must(Code code, const std::string& what) {
    if (static_cast<int>(code) == 0) return;
    const char* text = aclGetRecentErrMsg();
    meeting_.check(false, what + " returned " + std::to_string(static_cast<int>(code)) + ": " +
                              (text == nullptr ? "" : text));
    std::exit(1);
  }

  HcclComm byRootInfo(const std::string& name) {
    HcclRootInfo info{};
    if (rank_ == 0) {
      must(HcclGetRootInfo(&info), "HcclGetRootInfo");
      meeting_.put(name, std::string(info.internal, sizeof info.internal));
    } else {
      const std::string text = meeting_.take(name);
      std::memcpy(info.internal, text.data(), std::min(text.size(), sizeof info.internal));
    }
    HcclComm comm = nullptr;
    must(HcclCommInitRootInfo(2, &info, rank_, &comm), "HcclCommInitRootInfo");
    return comm;
  }

  HcclComm byRankTable() {
    const std::string table =
        R"({"status":"completed","version":"1.0","server_count":"2","server_list":[)"
        R"({"server_id":"a","host_ip":"192.168.78.1","device":[)"
        R"({"device_id":"0","device_ip":"192.168.78.1","device_port":"17000","rank_id":"0"}]},)"
        R"({"server_id":"b","host_ip":"192.168.78.2","device":[)"
        R"({"device_id":"0","device_ip":"192.168.78.2","device_port":"17000","rank_id":"1"}]}]})";
    std::ofstream("/tmp/rank_table.json") << table;
    HcclComm comm = nullptr;
    must(HcclCommInitClusterInfo("/tmp/rank_table.json", rank_, &comm), "HcclCommInitClusterInfo");
    return comm;
  }

  static int32_t valueOf(uint32_t rank, size_t i) {
    return static_cast<int32_t>(i * 2654435761U + rank * 40503U);
  }
  // Fills, calls, waits, compares.
  void operation(size_t inCount, size_t outCount, const std::function<HcclResult()>& call,
                 const std::function<int32_t(size_t)>& expected, const std::string& what) {
    auto* in = static_cast<int32_t*>(in_);
    auto* out = static_cast<int32_t*>(out_);
    for (size_t i = 0; i < inCount; ++i) in[i] = valueOf(rank_, i);
    std::fill(out, out + outCount, -1);
    must(call(), what);
    must(aclrtSynchronizeStream(stream_), what);
    size_t wrong = 0;
    for (size_t i = 0; i < outCount; ++i) wrong += out[i] != expected(i) ? 1 : 0;
    meeting_.check(wrong == 0, what + ": " + std::to_string(wrong) + " wrong elements");
  }
  HcclResult callAllReduce(HcclComm comm, size_t count) {
    return HcclAllReduce(in_, out_, count, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream_);
  }
  void allReduce(HcclComm comm, size_t count, const std::string& what) {
    operation(
        count, count, [&] { return callAllReduce(comm, count); },
        [](size_t i) {
          return static_cast<int32_t>(static_cast<uint32_t>(valueOf(0, i)) +
                                      static_cast<uint32_t>(valueOf(1, i)));
        },
        what);
  }
  void allGather(HcclComm comm, size_t count, const std::string& what) {
    operation(
        count, 2 * count,
        [&] { return HcclAllGather(in_, out_, count, HCCL_DATA_TYPE_INT32, comm, stream_); },
        [&](size_t i) { return valueOf(i < count ? 0 : 1, i % count); }, what);
  }
  void allToAll(HcclComm comm, size_t count, const std::string& what) {
    operation(
        2 * count, 2 * count,
        [&] {
          return HcclAlltoAll(in_, count, HCCL_DATA_TYPE_INT32, out_, count, HCCL_DATA_TYPE_INT32,
                              comm, stream_);
        },
        [&](size_t i) { return valueOf(i < count ? 0 : 1, i % count + rank_ * count); }, what);
  }
  void everything(HcclComm comm, const std::string& by) {
    for (const size_t count : {size_t{1}, size_t{1000}, kMost}) {
      const std::string tail = " of " + std::to_string(count) + ", communicator by " + by;
      allReduce(comm, count, "AllReduce" + tail);
      allGather(comm, count, "AllGather" + tail);
      allToAll(comm, count, "AlltoAll" + tail);
    }
  }

  // The network goes away in the middle of AllReduces.
  void cut(HcclComm comm) {
    meeting_.meet("before-cut");
    std::thread cutter;
    if (rank_ == 1) {
      cutter = std::thread([] {
        ::usleep(300'000);
        (void)Meeting::run("tc qdisc add dev eth0 root netem loss 100%");
      });
    }
    const auto begin = std::chrono::steady_clock::now();
    HcclResult called = HCCL_SUCCESS;
    int waited = 0;
    while (called == HCCL_SUCCESS && waited == 0) {
      called = callAllReduce(comm, kMost);
      if (called == HCCL_SUCCESS) waited = aclrtSynchronizeStream(stream_);
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const char* recent = aclGetRecentErrMsg();
    const std::string text = recent == nullptr ? "" : recent;
    HcclResult asynchronous = HCCL_SUCCESS;
    must(HcclGetCommAsyncError(comm, &asynchronous), "HcclGetCommAsyncError");
    meeting_.check(asynchronous == HCCL_E_REMOTE, "after " + std::to_string(seconds) +
                                                      " s the asynchronous error is " +
                                                      std::to_string(asynchronous));
    meeting_.check(text.find("EI0013") != std::string::npos, "the text: " + text);
    meeting_.check(text.find(rank_ == 0 ? "192.168.78.2" : "192.168.78.1") != std::string::npos,
                   "it names the peer's address");
    meeting_.check(seconds < 15, "in time");
    if (cutter.joinable()) cutter.join();
    meeting_.meet("cut-is-seen");
    if (rank_ == 1) (void)Meeting::run("tc qdisc del dev eth0 root");
    must(HcclCommDestroy(comm), "HcclCommDestroy after the cut");
    meeting_.meet("destroyed");
  }

  Meeting meeting_;
  uint32_t rank_;
  aclrtStream stream_ = nullptr;
  void *in_ = nullptr, *out_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ::setenv("HCCL_RDMA_TIMEOUT", "16", 1);
  ::setenv("HCCL_SOCKET_IFNAME", "eth0", 1);
  return Program(std::atoi(argv[1])).run();
}
