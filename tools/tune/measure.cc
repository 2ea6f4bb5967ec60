#include "tools/tune/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace hccl::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMostCalls = 2000;

float* memoryFor(uint64_t bytes) {
  void* memory = nullptr;
  HCCL_TUNE_MUST(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::memset(memory, 0, bytes);
  return static_cast<float*>(memory);
}

}  // namespace

Measurement::Measurement(Team& team, const Effort& effort, uint64_t mostBytes)
    : team_(team), effort_(effort) {
  const uint64_t bytes = mostBytes + 4096 * team.ranks();
  in_ = memoryFor(bytes);
  out_ = memoryFor(bytes);
}

Measurement::~Measurement() {
  forget();
  HCCL_TUNE_MUST(aclrtFree(in_));
  HCCL_TUNE_MUST(aclrtFree(out_));
}

void Measurement::forget() {
  team_.barrier();
  for (const auto& [algo, comm] : comms_) HCCL_TUNE_MUST(HcclCommDestroy(comm));
  comms_.clear();
}

HcclComm Measurement::commFor(const std::string& algo) {
  const auto [it, fresh] = comms_.try_emplace(algo);
  if (fresh) it->second = team_.open(algo);
  return it->second;
}

// Seconds a call, of the slowest rank.
double Measurement::turn(const Operation& op, uint64_t count, HcclComm comm, uint64_t calls) {
  team_.barrier();
  const auto start = Clock::now();
  for (uint64_t i = 0; i < calls; ++i) {
    call(op, in_, out_, count, comm, team_.stream());
    if (effort_.sync) team_.synchronise();
  }
  team_.synchronise();
  const std::chrono::duration<double> time = Clock::now() - start;
  return team_.most(time.count()) / static_cast<double>(calls);
}

std::vector<Times> Measurement::run(const Operation& op, uint64_t count,
                                    const std::vector<Contender>& contenders) {
  std::vector<Times> times(contenders.size());
  double best = 0;
  for (size_t i = 0; i < contenders.size(); ++i) {
    const HcclComm comm = commFor(contenders[i].algo);
    turn(op, count, comm, 2);  // makes links and plans
    const double once = turn(op, count, comm, 2);
    const double rough = std::min(effort_.turnSeconds / 4 / std::max(once, 1e-7), 50.0);
    times[i].first = once;
    // A contender is not given up because the machine was busy with something else.
    for (uint32_t attempt = 0; attempt < 3; ++attempt) {
      const auto calls = static_cast<uint64_t>(std::max(rough, 2.0));
      times[i].first = std::min(times[i].first, turn(op, count, comm, calls));
    }
    if (best == 0 || times[i].first < best) best = times[i].first;
  }
  std::vector<size_t> able;
  for (size_t i = 0; i < contenders.size(); ++i) {
    if (times[i].first <= best * effort_.hopeless || contenders[i].algo.empty()) able.push_back(i);
  }
  for (uint32_t t = 0; t < effort_.turns; ++t) {
    for (size_t k = 0; k < able.size(); ++k) {
      const size_t i = able[(k + t) % able.size()];
      const double wanted = effort_.turnSeconds / std::max(times[i].first, 1e-7);
      const auto calls = static_cast<uint64_t>(std::clamp(wanted, 2.0, double{kMostCalls}));
      times[i].seconds.push_back(turn(op, count, commFor(contenders[i].algo), calls));
    }
  }
  return times;
}

}  // namespace hccl::tune
