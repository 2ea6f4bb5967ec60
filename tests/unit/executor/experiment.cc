#include "tests/unit/executor/experiment.h"

#include <algorithm>
#include <numeric>

namespace hccl::test {
namespace {

constexpr int32_t kPoison = -77777777;
constexpr size_t kGuard = 16;

int32_t inputValue(uint32_t rank, uint64_t i) {
  return static_cast<int32_t>((rank + 1) * 1000003 + i * 7919);
}

}  // namespace

// A buffer of int32 with guards around it; from the arena when peers of other processes shall reach
// it.
class GuardedInts {
 public:
  GuardedInts(uint64_t elements, bool arena) : elements_(elements), arena_(arena) {
    const size_t bytes = (elements + 2 * kGuard) * sizeof(int32_t);
    if (arena) {
      auto memory = (*runtime::Arena::ofDevice(0))->allocate(bytes);
      data_ = static_cast<int32_t*>(*memory);
    } else {
      data_ = static_cast<int32_t*>(malloc(bytes));
    }
    std::fill(data_, data_ + elements + 2 * kGuard, kPoison);
  }
  ~GuardedInts() {
    if (arena_) {
      (void)(*runtime::Arena::ofDevice(0))->release(data_);
    } else {
      free(data_);
    }
  }
  GuardedInts(const GuardedInts&) = delete;
  GuardedInts& operator=(const GuardedInts&) = delete;
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

namespace {

uint64_t varyingCount(uint64_t count, uint32_t block) {
  return block % 3 == 1 ? 0 : count + block * 5;
}
uint64_t pairCount(uint64_t count, uint32_t from, uint32_t to) {
  return (from + to) % 4 == 3 ? 0 : count + from * 3 + to * 11;
}

// The operations that the levels of a case do: one of them at the top, others below.
bool does(const plan::AlgorithmRow* row, const std::vector<plan::StageOp>& ops, size_t members,
          bool oneShot, const std::vector<std::vector<uint32_t>>* groups) {
  if (row == nullptr) return true;
  const plan::StageAlgorithm& algorithm = *row->algorithm;
  if (algorithm.spansLevels() && (groups == nullptr || !algorithm.supportsGroups(*groups))) {
    return false;
  }
  return std::all_of(ops.begin(), ops.end(), [&](plan::StageOp op) {
    return algorithm.supports(op) && algorithm.supportsSize(op, static_cast<uint32_t>(members)) &&
           (!oneShot || algorithm.supportsOneShot(op));
  });
}

std::vector<plan::StageOp> opsBelow(plan::StageOp op) {
  switch (op) {
    case plan::StageOp::kAllReduce:
      return {plan::StageOp::kReduceScatter, plan::StageOp::kAllGather};
    case plan::StageOp::kReduce:
      return {plan::StageOp::kReduceScatter, plan::StageOp::kGather};
    case plan::StageOp::kBroadcast:
      return {plan::StageOp::kScatter, plan::StageOp::kAllGather};
    default:
      return {op};
  }
}

}  // namespace

const char* mixName(Mix mix) {
  static const char* const names[] = {"InProcess", "Arena",   "Malloc",
                                      "Tcp",       "Servers", "ServersMalloc"};
  return names[static_cast<size_t>(mix)];
}

uint32_t Case::ranks() const {
  return std::accumulate(servers.begin(), servers.end(), 0U);
}

std::string Case::text() const {
  std::string s = std::string(plan::opName(type)) + " " + level0 + "-" + level1 + "-" + level2 +
                  (oneShot ? " one-shot" : "") + " " + mixName(mix) + " servers";
  for (uint32_t n : servers) s += " " + std::to_string(n);
  for (uint32_t n : superPods) s += " pod " + std::to_string(n);
  return s + " count " + std::to_string(count) + " root " + std::to_string(root) +
         (inPlace ? " in place" : "");
}

plan::Topology topologyOf(const Case& c) {
  std::vector<uint32_t> serverOf;
  std::vector<uint32_t> podOf;
  std::vector<uint32_t> podOfServer(c.servers.size(), 0);
  for (uint32_t pod = 0, next = 0; pod < c.superPods.size(); ++pod) {
    for (uint32_t i = 0; i < c.superPods[pod]; ++i) podOfServer[next++] = pod;
  }
  for (uint32_t s = 0; s < c.servers.size(); ++s) {
    serverOf.insert(serverOf.end(), c.servers[s], s);
    podOf.insert(podOf.end(), c.servers[s], podOfServer[s]);
  }
  return plan::Topology::fromServers(serverOf, podOf);
}

plan::Choice choiceOf(const Case& c) {
  plan::Choice choice;
  choice.level0 = plan::findAlgorithm(c.level0);
  choice.level1 = c.level1.empty() ? nullptr : plan::findAlgorithm(c.level1);
  choice.level2 = c.level2.empty() ? nullptr : plan::findAlgorithm(c.level2);
  (c.level2.empty() ? c.level1.empty() ? choice.oneShot0 : choice.oneShot1 : choice.oneShot2) =
      c.oneShot;
  return choice;
}

bool available(const Case& c) {
  const plan::StageOp op = plan::stageOpOf(c.type);
  const plan::Choice choice = choiceOf(c);
  const plan::Topology topology = topologyOf(c);
  if (c.type == HCCL_CMD_ALLTOALLV && choice.level0->algorithm->relays()) return false;
  if (choice.level1 == nullptr && choice.level2 == nullptr) {
    return does(choice.level0, {op}, c.ranks(), c.oneShot, nullptr);
  }
  if (op == plan::StageOp::kAllToAll) return false;  // flat by design
  if (choice.level2 == nullptr) {
    return does(choice.level1, {op}, c.servers.size(), c.oneShot, &topology.servers);
  }
  std::vector<std::vector<uint32_t>> inside;
  for (uint32_t server : topology.superPods[0]) inside.push_back(topology.servers[server]);
  return does(choice.level2, {op}, c.superPods.size(), c.oneShot, &topology.superPods) &&
         does(choice.level1, opsBelow(op), inside.size(), false, &inside);
}

Experiment::Experiment(const Case& c) : case_(c), n_(c.ranks()) {
  tables();
  for (uint32_t r = 0; r < n_; ++r) {
    calls.push_back(callOf(r));
  }
}

std::string Experiment::check() const {
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

void Experiment::tables() {
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

uint64_t Experiment::inputElements(uint32_t r) const {
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
uint64_t Experiment::outputElements(uint32_t r) const {
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

CollectiveCall Experiment::callOf(uint32_t r) {
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
  in_.push_back(std::make_unique<GuardedInts>(
      case_.inPlace ? std::max(inElements, outElements) : inElements, arena));
  out_.push_back(case_.inPlace || single ? nullptr
                                         : std::make_unique<GuardedInts>(outElements, arena));
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

int64_t Experiment::sum(uint64_t i) const {
  int64_t total = 0;
  for (uint32_t q = 0; q < n_; ++q) total += inputValue(q, i);
  return static_cast<int32_t>(total);
}

// INT64_MIN: any value (not part of the result).
std::vector<int64_t> Experiment::expectedOf(uint32_t r) const {
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

Experiment::~Experiment() = default;

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

std::string runCase(const Case& c, uint32_t seed) {
  Experiment experiment(c);
  const auto world = worldOf(c, seed);
  const std::string trouble = world->run(experiment.calls, topologyOf(c), choiceOf(c));
  return trouble.empty() ? experiment.check() : trouble;
}

}  // namespace hccl::test
