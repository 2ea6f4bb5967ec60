// Interleaved measurement: contenders take turns, so that whatever else the machine does hits all.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/tune/contender.h"
#include "tools/tune/statistics.h"
#include "tools/tune/team.h"

namespace hccl::tune {

struct Effort {
  uint32_t turns = 9;
  double turnSeconds = 0.004;  // of a contender at a size
  double hopeless = 2.5;       // so many times slower than the best one: takes no turns
  bool sync = false;           // synchronise after each call
};

struct Times {
  std::vector<double> seconds;  // a call, by turn: the slowest rank; empty: hopeless
  double first = 0;             // of the calls before the turns
};

class Measurement {
 public:
  Measurement(Team& team, const Effort& effort, uint64_t mostBytes);
  ~Measurement();
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  // Equal on all ranks; by contender. Communicators are kept until forget().
  std::vector<Times> run(const Operation& op, uint64_t count,
                         const std::vector<Contender>& contenders);
  void forget();

 private:
  double turn(const Operation& op, uint64_t count, HcclComm comm, uint64_t calls);
  HcclComm commFor(const std::string& algo);

  Team& team_;
  const Effort effort_;
  float* in_ = nullptr;
  float* out_ = nullptr;
  std::map<std::string, HcclComm> comms_;
};

}  // namespace hccl::tune
