// One rank of one contender. The leader (compare) tells it what to measure; while others are
// measured it sleeps in a read. Usage: driver SOCKET
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "contender.h"
#include "control.h"

namespace hccl::peers {

void giveUp(const std::string& why) {
  std::fprintf(stderr, "peers driver: %s\n", why.c_str());
  std::_Exit(1);
}

const char* setting(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) giveUp(std::string(name) + " is not set");
  return text;
}

Place placeFromLeader() {
  return {std::atoi(setting("PEER_RANK")), std::atoi(setting("PEER_RANKS"))};
}

float* Contender::allocate(size_t count) {
  return static_cast<float*>(
      std::aligned_alloc(4096, (count * sizeof(float) + 4095) / 4096 * 4096));
}
void Contender::free(float* memory) {
  std::free(memory);
}
void Contender::allGather(const float*, float*, size_t) {
  giveUp("AllReduce only");
}
void Contender::reduceScatter(const float*, float*, size_t) {
  giveUp("AllReduce only");
}
void Contender::allToAll(const float*, float*, size_t) {
  giveUp("AllReduce only");
}
void Contender::broadcast(float*, size_t) {
  giveUp("AllReduce only");
}

namespace {

using Clock = std::chrono::steady_clock;

// `run OP BYTES ITERATIONS WARMUP SYNC PAIRS`: BYTES as in HCCL's tests (the whole data of an
// operation on a rank), PAIRS of buffers used in turn.
struct Order {
  std::string op;
  size_t bytes = 0;
  long iterations = 0;
  long warmup = 0;
  bool sync = false;
  size_t pairs = 1;
};

class Buffers {
 public:
  explicit Buffers(Contender* contender) : contender_(contender) {}
  ~Buffers() { release(); }

  // Kept between orders while they are large enough.
  const std::vector<std::pair<float*, float*>>& get(size_t pairs, size_t count) {
    if (count > count_ || pairs > all_.size()) {
      release();
      count_ = count;
      for (size_t p = 0; p < pairs; ++p) {
        all_.emplace_back(contender_->allocate(count), contender_->allocate(count));
        for (size_t i = 0; i < count; ++i) all_.back().first[i] = all_.back().second[i] = 1;
      }
    }
    return all_;
  }

 private:
  void release() {
    for (auto& [in, out] : all_) {
      contender_->free(in);
      contender_->free(out);
    }
    all_.clear();
    count_ = 0;
  }
  Contender* contender_;
  std::vector<std::pair<float*, float*>> all_;
  size_t count_ = 0;
};

void call(Contender& c, const Order& order, const std::pair<float*, float*>& buffers,
          size_t count) {
  const auto part = count / static_cast<size_t>(c.place().ranks);
  if (order.op == "allreduce") return c.allReduce(buffers.first, buffers.second, count);
  if (order.op == "allgather") return c.allGather(buffers.first, buffers.second, part);
  if (order.op == "reducescatter") return c.reduceScatter(buffers.first, buffers.second, part);
  if (order.op == "alltoall") return c.allToAll(buffers.first, buffers.second, part);
  if (order.op == "broadcast") return c.broadcast(buffers.first, count);
  giveUp("no operation " + order.op);
}

// Microseconds per call.
double measure(Contender& c, const Order& order, Buffers& memory) {
  const auto ranks = static_cast<size_t>(c.place().ranks);
  const size_t count = (order.bytes / sizeof(float) + ranks - 1) / ranks * ranks;
  const auto& pairs = memory.get(order.pairs, count);
  const auto run = [&](long times) {
    for (long i = 0; i < times; ++i) {
      call(c, order, pairs[static_cast<size_t>(i) % order.pairs], count);
      if (order.sync) c.finish();
    }
    c.finish();
  };
  run(order.warmup);
  c.barrier();
  const auto start = Clock::now();
  run(order.iterations);
  const std::chrono::duration<double, std::micro> time = Clock::now() - start;
  return time.count() / static_cast<double>(order.iterations);
}

// Whether an AllReduce of different inputs gives their sum: a contender that does not compute is no
// contender.
bool computes(Contender& c) {
  constexpr size_t kCount = 10007;
  float* in = c.allocate(kCount);
  float* out = c.allocate(kCount);
  const Place place = c.place();
  for (size_t i = 0; i < kCount; ++i)
    in[i] = static_cast<float>(i % 97 + static_cast<size_t>(place.rank));
  c.allReduce(in, out, kCount);
  c.finish();
  bool right = true;
  for (size_t i = 0; i < kCount; ++i) {
    const int sum = place.ranks * static_cast<int>(i % 97) + place.ranks * (place.ranks - 1) / 2;
    right = right && out[i] == static_cast<float>(sum);
  }
  c.barrier();
  c.free(in);
  c.free(out);
  return right;
}

void serve(Contender& c, Control& control) {
  Buffers memory(&c);
  for (std::string line = control.receive(); !line.empty(); line = control.receive()) {
    std::istringstream words(line);
    std::string verb;
    Order order;
    words >> verb;
    if (verb == "quit") return;
    if (verb == "check") {
      control.send(computes(c) ? "right" : "wrong");
      continue;
    }
    words >> order.op >> order.bytes >> order.iterations >> order.warmup >> order.sync >>
        order.pairs;
    if (verb != "run" || !words) giveUp("what is \"" + line + "\"?");
    char text[64];
    std::snprintf(text, sizeof text, "%.4f", measure(c, order, memory));
    control.send(text);
  }
}

}  // namespace
}  // namespace hccl::peers

int main(int argc, char** argv) {
  using namespace hccl::peers;
  if (argc != 2) giveUp("usage: driver SOCKET");
  const std::unique_ptr<Contender> contender = makeContender();
  Control control(argv[1]);
  const Place place = contender->place();
  control.send("hello " + std::to_string(place.rank) + " " +
               (place.rank == 0 ? contender->invitation() : ""));
  contender->join(control.receive());
  control.send("ready");
  serve(*contender, control);
  return 0;
}
