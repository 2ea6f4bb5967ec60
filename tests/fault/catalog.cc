// What is injected where. Bounds follow docs/fault-handbook.md: a death is seen in a second, a
// frozen or unreachable rank when its heartbeats have been missed, an absent one when
// HCCL_CONNECT_TIMEOUT is over.
#include <random>

#include "tests/fault/injection.h"

namespace hccl::faults {
namespace {

constexpr double kDeath = 1.0;
constexpr double kMismatch = 1.0;
constexpr double kFrozen = kLostMs * 1e-3 + 1.0;
constexpr double kAbsent = kConnectTimeout + 1.0;

struct Row {
  const char* fault;
  const char* stage;
  const char* transport;
  double bound;
  const char* code;
  bool named;
  bool survives;
};

constexpr Row kRows[] = {
    // Deaths.
    {"kill", "init", "auto", kAbsent, "EI0015", true, false},
    {"kill", "joining", "auto", kAbsent, "EI0015", true, false},
    {"kill", "link", "shm", kDeath, "", true, false},
    {"kill", "link", "tcp", kDeath, "", true, false},
    {"kill", "collective", "shm", kDeath, "", true, false},
    {"kill", "collective", "tcp", kDeath, "", true, false},
    // At other moments of the running collective.
    {"kill", "collective", "shm", kDeath, "", true, false},
    {"kill", "collective", "shm", kDeath, "", true, false},
    {"kill", "collective", "shm", kDeath, "", true, false},
    {"kill", "collective", "tcp", kDeath, "", true, false},
    {"kill", "collective", "tcp", kDeath, "", true, false},
    {"kill", "collective", "tcp", kDeath, "", true, false},
    {"kill", "joining", "auto", kAbsent, "EI0015", true, false},
    {"kill", "between", "shm", kDeath, "", true, false},
    {"kill", "between", "tcp", kDeath, "", true, false},
    {"segv", "link", "shm", kDeath, "", true, false},
    {"segv", "collective", "shm", kDeath, "", true, false},
    {"segv", "collective", "tcp", kDeath, "", true, false},
    {"exit", "init", "auto", kAbsent, "EI0015", true, false},
    {"exit", "link", "shm", kDeath, "", true, false},
    {"exit", "link", "tcp", kDeath, "", true, false},
    {"exit", "between", "shm", kDeath, "", true, false},
    {"exit", "between", "tcp", kDeath, "", true, false},
    {"destroy", "between", "shm", kDeath, "", true, false},
    {"destroy", "between", "tcp", kDeath, "", true, false},
    // Frozen ranks.
    {"stop", "init", "auto", kAbsent, "EI0015", true, false},
    {"stop", "link", "shm", kFrozen, "", true, false},
    {"stop", "link", "tcp", kFrozen, "", true, false},
    {"stop", "collective", "shm", kFrozen, "", true, false},
    {"stop", "collective", "tcp", kFrozen, "", true, false},
    {"cut", "collective", "auto", kFrozen, "", true, false},
    // Ranks that do not come, or come wrong.
    {"late", "init", "auto", kAbsent, "EI0015", true, false},
    {"missing", "init", "auto", kAbsent, "EI0015", true, false},
    {"ranks", "init", "auto", kMismatch, "EI0015", true, false},
    {"duplicate", "init", "auto", kMismatch, "EI0015", true, false},
    // Calls that differ.
    {"count", "link", "shm", kMismatch, "EI0005", true, false},
    {"count", "collective", "shm", kMismatch, "EI0005", true, false},
    {"count", "collective", "tcp", kMismatch, "EI0005", true, false},
    {"dataType", "collective", "shm", kMismatch, "EI0005", true, false},
    {"dataType", "link", "tcp", kMismatch, "EI0005", true, false},
    {"op", "collective", "shm", kMismatch, "EI0005", true, false},
    {"op", "collective", "tcp", kMismatch, "EI0005", true, false},
    {"root", "collective", "shm", kMismatch, "EI0005", true, false},
    {"root", "collective", "tcp", kMismatch, "EI0005", true, false},
    {"cmdType", "collective", "shm", kMismatch, "EI0005", true, false},
    {"cmdType", "collective", "tcp", kMismatch, "EI0005", true, false},
    {"order", "collective", "shm", kMismatch, "EI0005", true, false},
    {"order", "collective", "tcp", kMismatch, "EI0005", true, false},
    // Strangers at the listening ports: the job does not mind.
    {"garbage", "link", "shm", 0, "", false, true},
    {"garbage", "link", "tcp", 0, "", false, true},
    {"halfopen", "link", "tcp", 0, "", false, true},
    {"flood", "init", "auto", 0, "", false, true},
};

}  // namespace

std::vector<Injection> catalog(uint32_t rounds) {
  std::vector<Injection> all;
  std::mt19937 random(20240607);
  for (uint32_t round = 0; round < rounds; ++round) {
    for (const Row& row : kRows) {
      Injection injection;
      injection.fault = row.fault;
      injection.stage = row.stage;
      injection.transport = row.transport;
      injection.ranks = 3 + random() % 3;
      // Whether the root of the rendezvous is there cannot be told apart from the way to it.
      const bool rendezvous = injection.stage == "init" || injection.stage == "joining";
      injection.culprit =
          rendezvous ? 1 + random() % (injection.ranks - 1) : random() % injection.ranks;
      injection.seed = random();
      injection.bound = row.bound;
      injection.code = row.code;
      injection.named = row.named;
      injection.survives = row.survives;
      all.push_back(injection);
    }
  }
  return all;
}

}  // namespace hccl::faults
