// One operation on all ranks of a cluster of plain memory: buffers with guards, calls, expected
// results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/executor/fake_world.h"

namespace hccl::test {

class GuardedInts;

enum class Mix { kInProcess, kArena, kMalloc, kTcp, kServers, kServersMalloc };
const char* mixName(Mix mix);

struct Case {
  HcclCMDType type;
  std::string level0;
  std::string level1;  // empty: none
  bool oneShot = false;
  Mix mix = Mix::kInProcess;
  std::vector<uint32_t> servers;  // ranks of each
  uint64_t count = 0;
  uint32_t root = 0;
  bool inPlace = false;
  std::string level2 = {};               // empty: none
  std::vector<uint32_t> superPods = {};  // servers of each; empty: one

  uint32_t ranks() const;
  std::string text() const;
};

plan::Topology topologyOf(const Case& c);
plan::Choice choiceOf(const Case& c);
// False when an algorithm of the case does not do what its level needs.
bool available(const Case& c);
std::unique_ptr<FakeWorld> worldOf(const Case& c, uint32_t seed);
// Runs the case; the text of what went wrong, or empty.
std::string runCase(const Case& c, uint32_t seed);

class Experiment {
 public:
  explicit Experiment(const Case& c);
  ~Experiment();

  std::vector<CollectiveCall> calls;
  // What is wrong with the results, or empty.
  std::string check() const;

 private:
  void tables();
  uint64_t inputElements(uint32_t r) const;
  uint64_t outputElements(uint32_t r) const;
  CollectiveCall callOf(uint32_t r);
  int64_t sum(uint64_t i) const;
  std::vector<int64_t> expectedOf(uint32_t r) const;

  Case case_;
  uint32_t n_;
  std::vector<std::unique_ptr<GuardedInts>> in_;
  std::vector<std::unique_ptr<GuardedInts>> out_;
  std::vector<uint64_t> blockCounts_, blockDispls_;
  uint64_t blockEnd_ = 0;
  std::vector<std::vector<uint64_t>> sendCounts_, sendDispls_, recvCounts_, recvDispls_;
};

}  // namespace hccl::test
