// Every collective x algorithm x link class x rank count x count x in place, on a cluster of plain
// memory.
#include <gtest/gtest.h>

#include "src/plan/selector.h"
#include "tests/unit/executor/fake_world.h"

namespace hccl::test {
namespace {

constexpr int32_t kPoison = -77777777;
constexpr size_t kGuard = 16;

int32_t inputValue(uint32_t rank, uint64_t i) {
  return static_cast<int32_t>((rank + 1) * 1000003 + i * 7919);
}

// A buffer of int32 with guards around it; from the arena when peers of other processes shall reach
// it.
class Buffer {
 public:
  Buffer(uint64_t elements, bool arena) : elements_(elements), arena_(arena) {
    const size_t bytes = (elements + 2 * kGuard) * sizeof(int32_t);
    if (arena) {
      auto memory = (*runtime::Arena::ofDevice(0))->allocate(bytes);
      data_ = static_cast<int32_t*>(*memory);
    } else {
      data_ = static_cast<int32_t*>(malloc(bytes));
    }
    std::fill(data_, data_ + elements + 2 * kGuard, kPoison);
  }
  ~Buffer() {
    if (arena_) {
      (void)(*runtime::Arena::ofDevice(0))->release(data_);
    } else {
      free(data_);
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  int32_t* data() { return data_ + kGuard; }
  bool guardsIntact() const {
    for (size_t i = 0; i < kGuard; ++i) {
      if (data_[i] != kPoison || data_[kGuard + elements_ + i] != kPoison) return false;
    }
    return true;
  }

 private:
  uint64_t elements_;
  bool arena_;
  int32_t* data_;
};

enum class Mix { kInProcess, kArena, kMalloc, kTcp, kServers, kServersMalloc };
const char* mixName(Mix mix) {
  static const char* const names[] = {"InProcess", "Arena",   "Malloc",
                                      "Tcp",       "Servers", "ServersMalloc"};
  return names[static_cast<size_t>(mix)];
}

struct Case {
  HcclCMDType type;
  std::string level0;
  std::string level1;  // empty: flat
  bool oneShot = false;
  Mix mix = Mix::kInProcess;
  std::vector<uint32_t> servers;  // ranks of each
  uint64_t count = 0;
  uint32_t root = 0;
  bool inPlace = false;

  uint32_t ranks() const {
    uint32_t n = 0;
    for (uint32_t s : servers) n += s;
    return n;
  }
  std::string text() const {
    std::string s = std::string(plan::opName(type)) + " " + level0 + "-" + level1 +
                    (oneShot ? " one-shot" : "") + " " + mixName(mix) + " servers";
    for (uint32_t n : servers) s += " " + std::to_string(n);
    return s + " count " + std::to_string(count) + " root " + std::to_string(root) +
           (inPlace ? " in place" : "");
  }
};

plan::Topology topologyOf(const Case& c) {
  std::vector<uint32_t> serverOf;
  for (uint32_t s = 0; s < c.servers.size(); ++s) serverOf.insert(serverOf.end(), c.servers[s], s);
  return plan::Topology::fromServers(serverOf);
}

uint64_t varyingCount(uint64_t count, uint32_t block) {
  return block % 3 == 1 ? 0 : count + block * 5;
}
uint64_t pairCount(uint64_t count, uint32_t from, uint32_t to) {
  return (from + to) % 4 == 3 ? 0 : count + from * 3 + to * 11;
}

// Buffers, calls and expected results of one operation on all ranks.
class Experiment {
 public:
  explicit Experiment(const Case& c) : case_(c), n_(c.ranks()) {
    tables();
    for (uint32_t r = 0; r < n_; ++r) {
      calls.push_back(callOf(r));
    }
  }

  std::vector<CollectiveCall> calls;

  std::string check() {
    for (uint32_t r = 0; r < n_; ++r) {
      if (!in_[r]->guardsIntact() || (out_[r] != nullptr && !out_[r]->guardsIntact())) {
        return "rank " + std::to_string(r) + " was written outside of its buffer";
      }
      const std::vector<int64_t> expected = expectedOf(r);
      const int32_t* got = static_cast<const int32_t*>(calls[r].recv);
      for (uint64_t i = 0; i < expected.size(); ++i) {
        if (expected[i] == INT64_MIN) continue;
        if (got[i] != static_cast<int32_t>(expected[i])) {
          return "rank " + std::to_string(r) + " element " + std::to_string(i) + " is " +
                 std::to_string(got[i]) + ", expected " +
                 std::to_string(static_cast<int32_t>(expected[i]));
        }
      }
    }
    return {};
  }

 private:
  void tables() {
    blockCounts_.resize(n_);
    blockDispls_.resize(n_);
    uint64_t end = 0;
    for (uint32_t b = 0; b < n_; ++b) {
      blockCounts_[b] = varyingCount(case_.count, b);
      blockDispls_[b] = end + b;  // a gap before every block
      end = blockDispls_[b] + blockCounts_[b];
    }
    blockEnd_ = end;
    for (uint32_t r = 0; r < n_; ++r) {
      std::vector<uint64_t> sc, sd, rc, rd;
      uint64_t s = 0;
      uint64_t q = 0;
      for (uint32_t p = 0; p < n_; ++p) {
        sc.push_back(pairCount(case_.count, r, p));
        rc.push_back(pairCount(case_.count, p, r));
        sd.push_back(s + p);
        rd.push_back(q + 2 * p);
        s = sd.back() + sc.back();
        q = rd.back() + rc.back();
      }
      sendCounts_.push_back(sc);
      sendDispls_.push_back(sd);
      recvCounts_.push_back(rc);
      recvDispls_.push_back(rd);
    }
  }

  uint64_t inputElements(uint32_t r) const {
    switch (case_.type) {
      case HCCL_CMD_REDUCE_SCATTER:
      case HCCL_CMD_ALLTOALL:
      case HCCL_CMD_SCATTER:
        return case_.count * n_;
      case HCCL_CMD_REDUCE_SCATTER_V:
        return blockEnd_;
      case HCCL_CMD_ALLGATHER_V:
        return blockCounts_[r];
      case HCCL_CMD_ALLTOALLV:
        return sendDispls_[r].back() + sendCounts_[r].back();
      default:
        return case_.count;
    }
  }
  uint64_t outputElements(uint32_t r) const {
    switch (case_.type) {
      case HCCL_CMD_ALLGATHER:
      case HCCL_CMD_ALLTOALL:
        return case_.count * n_;
      case HCCL_CMD_ALLGATHER_V:
        return blockEnd_;
      case HCCL_CMD_REDUCE_SCATTER_V:
        return blockCounts_[r];
      case HCCL_CMD_ALLTOALLV:
        return recvDispls_[r].back() + recvCounts_[r].back();
      default:
        return case_.count;
    }
  }

  CollectiveCall callOf(uint32_t r) {
    const bool arena = case_.mix == Mix::kArena || case_.mix == Mix::kServers;
    const uint64_t inElements = inputElements(r);
    const uint64_t outElements = outputElements(r);
    CollectiveCall call;
    call.type = case_.type;
    call.dataType = HCCL_DATA_TYPE_INT32;
    call.reduceOp = plan::isReduction(case_.type) ? HCCL_REDUCE_SUM : HCCL_REDUCE_RESERVED;
    call.root = case_.root;
    call.count = case_.count;
    const bool single = case_.type == HCCL_CMD_BROADCAST;
    in_.push_back(std::make_unique<Buffer>(
        case_.inPlace ? std::max(inElements, outElements) : inElements, arena));
    out_.push_back(case_.inPlace || single ? nullptr
                                           : std::make_unique<Buffer>(outElements, arena));
    int32_t* input = in_[r]->data();
    // In place all-gather: the input is the own block of the output, as frameworks pass it.
    if (case_.inPlace && case_.type == HCCL_CMD_ALLGATHER) input += r * case_.count;
    if (case_.inPlace && case_.type == HCCL_CMD_ALLGATHER_V) input += blockDispls_[r];
    if (!single || r == case_.root) {
      for (uint64_t i = 0; i < inElements; ++i) input[i] = inputValue(r, i);
    }
    call.send = input;
    call.recv = case_.inPlace || single ? in_[r]->data() : out_[r]->data();
    if (case_.type == HCCL_CMD_REDUCE_SCATTER_V) {
      call.sendCounts = blockCounts_.data();
      call.sendDispls = blockDispls_.data();
    } else if (case_.type == HCCL_CMD_ALLGATHER_V) {
      call.recvCounts = blockCounts_.data();
      call.recvDispls = blockDispls_.data();
    } else if (case_.type == HCCL_CMD_ALLTOALLV) {
      call.sendCounts = sendCounts_[r].data();
      call.sendDispls = sendDispls_[r].data();
      call.recvCounts = recvCounts_[r].data();
      call.recvDispls = recvDispls_[r].data();
    }
    return call;
  }

  int64_t sum(uint64_t i) const {
    int64_t total = 0;
    for (uint32_t q = 0; q < n_; ++q) total += inputValue(q, i);
    return static_cast<int32_t>(total);
  }

  // INT64_MIN: any value (not part of the result).
  std::vector<int64_t> expectedOf(uint32_t r) const {
    const uint64_t size = outputElements(r);
    std::vector<int64_t> e(size, case_.inPlace ? INT64_MIN : kPoison);
    switch (case_.type) {
      case HCCL_CMD_ALLREDUCE:
        for (uint64_t i = 0; i < size; ++i) e[i] = sum(i);
        break;
      case HCCL_CMD_REDUCE:
        for (uint64_t i = 0; i < size && r == case_.root; ++i) e[i] = sum(i);
        break;
      case HCCL_CMD_BROADCAST:
        for (uint64_t i = 0; i < size; ++i) e[i] = inputValue(case_.root, i);
        break;
      case HCCL_CMD_REDUCE_SCATTER:
        for (uint64_t i = 0; i < size; ++i) e[i] = sum(r * case_.count + i);
        break;
      case HCCL_CMD_REDUCE_SCATTER_V:
        for (uint64_t i = 0; i < size; ++i) e[i] = sum(blockDispls_[r] + i);
        break;
      case HCCL_CMD_ALLGATHER:
        for (uint64_t i = 0; i < size && case_.count > 0; ++i) {
          e[i] = inputValue(static_cast<uint32_t>(i / case_.count), i % case_.count);
        }
        break;
      case HCCL_CMD_ALLGATHER_V:
        for (uint32_t b = 0; b < n_; ++b) {
          for (uint64_t i = 0; i < blockCounts_[b]; ++i) e[blockDispls_[b] + i] = inputValue(b, i);
        }
        break;
      case HCCL_CMD_SCATTER:
        for (uint64_t i = 0; i < size; ++i) e[i] = inputValue(case_.root, r * case_.count + i);
        break;
      case HCCL_CMD_ALLTOALL:
        for (uint64_t i = 0; i < size && case_.count > 0; ++i) {
          e[i] =
              inputValue(static_cast<uint32_t>(i / case_.count), r * case_.count + i % case_.count);
        }
        break;
      case HCCL_CMD_ALLTOALLV:
        for (uint32_t q = 0; q < n_; ++q) {
          for (uint64_t i = 0; i < recvCounts_[r][q]; ++i) {
            e[recvDispls_[r][q] + i] = inputValue(q, sendDispls_[q][r] + i);
          }
        }
        break;
      default:
        break;
    }
    return e;
  }

  Case case_;
  uint32_t n_;
  std::vector<std::unique_ptr<Buffer>> in_;
  std::vector<std::unique_ptr<Buffer>> out_;
  std::vector<uint64_t> blockCounts_, blockDispls_;
  uint64_t blockEnd_ = 0;
  std::vector<std::vector<uint64_t>> sendCounts_, sendDispls_, recvCounts_, recvDispls_;
};

std::unique_ptr<FakeWorld> worldOf(const Case& c, uint32_t seed) {
  const plan::Topology topology = topologyOf(c);
  const Mix mix = c.mix;
  auto wire = [topology, mix](uint32_t a, uint32_t b) {
    switch (mix) {
      case Mix::kInProcess:
        return Wire::kDirect;
      case Mix::kArena:
      case Mix::kMalloc:
        return Wire::kDirectStaged;
      case Mix::kTcp:
        return Wire::kMessage;
      default:
        return topology.serverOf[a] == topology.serverOf[b] ? Wire::kDirectStaged : Wire::kMessage;
    }
  };
  return std::make_unique<FakeWorld>(c.ranks(), wire, 16384, seed);
}

plan::Choice choiceOf(const Case& c) {
  plan::Choice choice;
  choice.level0 = plan::findAlgorithm(c.level0);
  choice.level1 = c.level1.empty() ? nullptr : plan::findAlgorithm(c.level1);
  (c.level1.empty() ? choice.oneShot0 : choice.oneShot1) = c.oneShot;
  return choice;
}

std::string runCase(const Case& c, uint32_t seed) {
  Experiment experiment(c);
  const auto world = worldOf(c, seed);
  const std::string trouble = world->run(experiment.calls, topologyOf(c), choiceOf(c));
  return trouble.empty() ? experiment.check() : trouble;
}

bool available(const Case& c) {
  const plan::AlgorithmRow* algorithm = plan::findAlgorithm(c.level1.empty() ? c.level0 : c.level1);
  plan::StageOp op = plan::StageOp::kAllReduce;
  switch (c.type) {
    case HCCL_CMD_BROADCAST:
      op = plan::StageOp::kBroadcast;
      break;
    case HCCL_CMD_REDUCE:
      op = plan::StageOp::kReduce;
      break;
    case HCCL_CMD_SCATTER:
      op = plan::StageOp::kScatter;
      break;
    case HCCL_CMD_REDUCE_SCATTER:
    case HCCL_CMD_REDUCE_SCATTER_V:
      op = plan::StageOp::kReduceScatter;
      break;
    case HCCL_CMD_ALLGATHER:
    case HCCL_CMD_ALLGATHER_V:
      op = plan::StageOp::kAllGather;
      break;
    case HCCL_CMD_ALLTOALL:
    case HCCL_CMD_ALLTOALLV:
      op = plan::StageOp::kAllToAll;
      break;
    default:
      break;
  }
  if (!c.level1.empty() && op == plan::StageOp::kAllToAll) return false;
  const uint32_t members = static_cast<uint32_t>(c.level1.empty() ? c.ranks() : c.servers.size());
  return algorithm->algorithm->supports(op) && algorithm->algorithm->supportsSize(op, members) &&
         (!c.oneShot || algorithm->algorithm->supportsOneShot(op));
}

const HcclCMDType kTypes[] = {
    HCCL_CMD_ALLREDUCE,        HCCL_CMD_REDUCE,    HCCL_CMD_BROADCAST,   HCCL_CMD_REDUCE_SCATTER,
    HCCL_CMD_REDUCE_SCATTER_V, HCCL_CMD_ALLGATHER, HCCL_CMD_ALLGATHER_V, HCCL_CMD_SCATTER,
    HCCL_CMD_ALLTOALL,         HCCL_CMD_ALLTOALLV};

class Collectives : public testing::TestWithParam<HcclCMDType> {};

TEST_P(Collectives, FlatAlgorithmsOnEveryLinkClass) {
  uint32_t seed = 1;
  uint32_t cases = 0;
  for (const char* algorithm : {"fullmesh", "ring", "NHR", "pairwise", "NB", "H-D_R"}) {
    for (bool oneShot : {false, true}) {
      for (Mix mix : {Mix::kInProcess, Mix::kArena, Mix::kMalloc, Mix::kTcp}) {
        for (uint32_t ranks = 1; ranks <= 9; ++ranks) {
          for (uint64_t count : {0ULL, 1ULL, 7ULL, 1000ULL, 9001ULL}) {
            for (bool inPlace : {false, true}) {
              Case c{GetParam(), algorithm,          "",     oneShot, mix, {ranks},
                     count,      (seed * 7) % ranks, inPlace};
              const bool toAll = plan::isAllToAll(c.type);
              if (!available(c) || (inPlace && (toAll || plan::hasVaryingBlocks(c.type)))) continue;
              if (ranks == 1 && std::string(algorithm) != "fullmesh") continue;
              ++cases;
              ASSERT_EQ(runCase(c, ++seed), "") << c.text();
            }
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 100U);
}

TEST_P(Collectives, HierarchiesOverUniformServers) {
  uint32_t seed = 1;
  if (plan::isAllToAll(GetParam())) return;  // flat by design
  for (const char* level1 : {"ring", "NHR", "fullmesh", "NB", "H-D_R"}) {
    for (bool oneShot : {false, true}) {
      for (Mix mix : {Mix::kServers, Mix::kServersMalloc, Mix::kTcp, Mix::kInProcess}) {
        for (const std::vector<uint32_t>& servers : std::vector<std::vector<uint32_t>>{
                 {2, 2}, {2, 2, 2}, {3, 3}, {4, 4}, {2, 2, 2, 2, 2}}) {
          for (uint64_t count : {1ULL, 1000ULL, 9001ULL}) {
            for (bool inPlace : {false, true}) {
              Case c{GetParam(), "fullmesh", level1, oneShot, mix, servers, count, 0, inPlace};
              c.root = (seed * 5) % c.ranks();
              if (!available(c) || (inPlace && plan::hasVaryingBlocks(c.type))) continue;
              ASSERT_EQ(runCase(c, ++seed), "") << c.text();
            }
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Collectives, testing::ValuesIn(kTypes), [](const auto& tested) {
  return std::string(plan::opName(tested.param));
});

// Different operations back to back, nobody waits for anybody between them.
TEST(Sequences, MixedOperationsWithoutSynchronisation) {
  for (Mix mix : {Mix::kInProcess, Mix::kMalloc, Mix::kArena, Mix::kTcp, Mix::kServers,
                  Mix::kServersMalloc}) {
    std::mt19937 random(static_cast<uint32_t>(mix) + 5);
    std::vector<std::unique_ptr<Experiment>> experiments;
    std::vector<FakeWorld::Operation> operations;
    Case first{HCCL_CMD_ALLREDUCE, "fullmesh", "", false, mix, {2, 2}, 1, 0, false};
    for (int i = 0; i < 200; ++i) {
      Case c = first;
      static const char* const names[] = {"fullmesh", "ring", "NHR", "NB", "pairwise", "H-D_R"};
      do {
        c.type = kTypes[random() % std::size(kTypes)];
        c.level0 = names[random() % std::size(names)];
        c.oneShot = random() % 2 == 0;
      } while (!available(c));
      c.count = random() % 2 == 0 ? random() % 50 : random() % 5000;
      c.root = random() % 4;
      experiments.push_back(std::make_unique<Experiment>(c));
      operations.push_back({experiments.back()->calls, choiceOf(c)});
    }
    ASSERT_EQ(worldOf(first, 99)->runAll(operations, topologyOf(first)), "") << mixName(mix);
    for (size_t i = 0; i < experiments.size(); ++i)
      ASSERT_EQ(experiments[i]->check(), "") << mixName(mix) << " " << i;
  }
}

// A rank that calls something else is named, with both values.
TEST(Mismatch, NamesParameterValuesAndRank) {
  for (Mix mix : {Mix::kInProcess, Mix::kTcp}) {
    Case c{HCCL_CMD_ALLREDUCE, "fullmesh", "", false, mix, {3}, 100, 0, false};
    Experiment experiment(c);
    experiment.calls[2].count = 99;
    const std::string trouble = worldOf(c, 3)->run(experiment.calls, topologyOf(c), choiceOf(c));
    EXPECT_NE(trouble.find("count"), std::string::npos) << trouble;
    EXPECT_NE(trouble.find("99 (rank 2)"), std::string::npos) << trouble;
  }
}

}  // namespace
}  // namespace hccl::test
