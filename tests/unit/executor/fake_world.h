// A cluster in one thread: ranks with real plans and real executions, on links made of plain
// memory, advanced in random order. Any interleaving of ranks, and any split of messages, can
// happen.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "src/communicator/launch_builder.h"
#include "src/executor/execution.h"
#include "src/plan/lowering.h"

namespace hccl::test {

enum class Wire { kDirect, kDirectStaged, kMessage };

class FakeWorld {
 public:
  // wire(a, b) is symmetric. Chunks of `bufferBytes` make operations run in many iterations.
  FakeWorld(uint32_t ranks, std::function<Wire(uint32_t, uint32_t)> wire, uint64_t bufferBytes,
            uint32_t seed);
  ~FakeWorld();

  // Runs the calls (one a rank) to their end; the text of what went wrong, or empty.
  std::string run(const std::vector<CollectiveCall>& calls, const plan::Topology& topology,
                  const plan::Choice& choice);
  // The same for several operations back to back, without any synchronisation between them:
  // calls[operation][rank].
  struct Operation {
    std::vector<CollectiveCall> calls;
    plan::Choice choice;
  };
  std::string runAll(const std::vector<Operation>& operations, const plan::Topology& topology);

 private:
  struct Rank;
  Status prepare(uint32_t rank, const CollectiveCall& call, const plan::Topology& topology,
                 const plan::Choice& choice, uint64_t sequence, executor::Launch& launch);

  uint32_t ranks_;
  std::function<Wire(uint32_t, uint32_t)> wire_;
  uint64_t bufferBytes_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<Rank>> state_;
};

}  // namespace hccl::test
