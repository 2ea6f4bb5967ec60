// Injection: one way to break a job, and what the job has to say about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hccl::faults {

struct Injection {
  std::string fault;      // "kill", "stop", "count", ... (culprit.cc, rank_body.cc)
  std::string stage;      // init, link, collective, between
  std::string transport;  // HCCL_TRANSPORT
  uint32_t ranks = 4;
  uint32_t culprit = 0;
  uint32_t seed = 0;
  double bound = 1;       // seconds from the fault to the last survivor's error
  std::string code;       // of the EI table; empty: any
  bool named = true;      // every survivor has to say "culprit rank N"
  bool survives = false;  // the job has to end well in spite of it
};

// The injections of a run, spread over ranks, transports and moments by the seed.
std::vector<Injection> catalog(uint32_t rounds);

// Time-outs that jobs of the suite get, in seconds.
inline constexpr int kConnectTimeout = 4;
inline constexpr int kExecTimeout = 30;  // the safety net: nothing here should need it
inline constexpr int kHeartbeatMs = 100;
inline constexpr int kLostMs = 1500;

}  // namespace hccl::faults
