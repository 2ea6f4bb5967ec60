#include "tests/integration/matrix/test_case.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "tests/integration/support/element.h"

namespace hccl::multirank {
namespace {

constexpr const char* kCollectiveNames[] = {
    "AllReduce",  "Reduce",    "ReduceScatter", "ReduceScatterV", "AllGather",
    "AllGatherV", "Broadcast", "Scatter",       "AllToAll",       "AllToAllV",
    "AllToAllVC", "SendRecv",  "BatchSendRecv", "Barrier"};
static_assert(std::size(kCollectiveNames) == kCollectives);

// The last one stands for three staging buffers (HCCL_BUFFSIZE=1) and 13 elements in the whole
// operation.
constexpr uint64_t kCounts[] = {0, 1, 7, 1000, 65537, 0};
constexpr uint8_t kLargeCount = 5;
constexpr uint64_t kLargeBytes = 3ULL << 20;

// Classes of collectives, for what an algorithm does.
enum : uint8_t {
  kReducing = 1,  // AllReduce
  kRooted = 2,    // Reduce
  kScattering = 4,
  kGathering = 8,
  kBroadcasting = 16,
  kFromRoot = 32,  // Scatter
  kExchanging = 64,
  kExchangingParts = 128,  // with lengths of their own
};

struct Algorithm {
  const char* name;
  const char* config;
  uint8_t does;  // where it can be asked for
};
constexpr uint8_t kAllReductions = kReducing | kRooted | kScattering;
constexpr uint8_t kEverything = kAllReductions | kGathering | kBroadcasting | kFromRoot;
enum : uint8_t { kDefault, kStrict = 5 };
constexpr Algorithm kAlgorithms[] = {
    {"default", "", 255},
    {"ring", "level0:null;level1:ring", kEverything & ~kBroadcasting},
    {"NHR", "level0:null;level1:NHR", kEverything},
    {"pairwise", "level0:null;level1:pairwise", kExchanging | kExchangingParts},
    {"fullmesh", "level0:null;level1:fullmesh", kExchanging | kExchangingParts},
    {"strict", "", kAllReductions},
    {"NB", "level0:null;level1:NB", kEverything},
    {"H-D_R", "level0:null;level1:H-D_R", kEverything & ~kFromRoot},
    {"NHR_V1", "level0:null;level1:NHR_V1", kEverything & ~(kFromRoot | kRooted)},
    {"star", "level0:null;level1:star", kEverything & ~kScattering},
    {"doubling", "level0:null;level1:doubling", kReducing},
    {"doubletree", "level0:null;level1:doubletree", kRooted | kBroadcasting},
    {"bruck", "level0:null;level1:bruck", kExchanging},
    {"groupedmesh", "level0:null;level1:groupedmesh", kExchanging | kExchangingParts}};

constexpr const char* kFactorNames[kFactors] = {"",          "type", "op",     "place",
                                                "count",     "root", "ranks",  "launch",
                                                "transport", "algo", "memory", "offset"};

std::string valueName(Factor factor, uint8_t value) {
  static constexpr const char* places[] = {"separate", "own", "start"};
  static constexpr const char* counts[] = {"0", "1", "7", "1000", "65537", "3staging+13"};
  static constexpr const char* roots[] = {"first", "middle", "last"};
  static constexpr const char* memories[] = {"device", "malloc", "mixed"};
  static constexpr const char* offsets[] = {"0", "element", "3"};
  switch (factor) {
    case kCollective:
      return kCollectiveNames[value];
    case kType:
      return nameOf(movableTypes()[value]);
    case kOp:
      return nameOf(static_cast<HcclReduceOp>(value));
    case kPlace:
      return places[value];
    case kCount:
      return counts[value];
    case kRoot:
      return roots[value];
    case kRanks:
      return std::to_string(value + 1);
    case kLaunch:
      return nameOf(static_cast<Launch>(value));
    case kTransport:
      return value == 0 ? "shm" : "tcp";
    case kAlgorithm:
      return kAlgorithms[value].name;
    case kMemory:
      return memories[value];
    default:
      return offsets[value];
  }
}

bool hasRoot(Collective c) {
  return c == Collective::kReduce || c == Collective::kBroadcast || c == Collective::kScatter;
}

uint8_t classOf(Collective c) {
  switch (c) {
    case Collective::kAllReduce:
      return kReducing;
    case Collective::kReduce:
      return kRooted;
    case Collective::kReduceScatter:
    case Collective::kReduceScatterV:
      return kScattering;
    case Collective::kAllGather:
    case Collective::kAllGatherV:
      return kGathering;
    case Collective::kBroadcast:
      return kBroadcasting;
    case Collective::kScatter:
      return kFromRoot;
    case Collective::kAllToAll:
      return kExchanging;
    case Collective::kAllToAllV:
    case Collective::kAllToAllVC:
      return kExchangingParts;
    default:
      return 0;
  }
}

bool algorithmFits(const TestCase& c) {
  return c.factor[kAlgorithm] == kDefault ||
         (kAlgorithms[c.factor[kAlgorithm]].does & classOf(c.collective())) != 0;
}

bool placeFits(const TestCase& c) {
  switch (c.collective()) {
    case Collective::kAllReduce:
    case Collective::kReduce:
    case Collective::kScatter:
      return c.place() != kStart;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return true;
    default:
      return c.place() == kSeparate;
  }
}

}  // namespace

const std::array<uint8_t, kFactors>& TestCase::levels() {
  static const std::array<uint8_t, kFactors> all = {kCollectives,
                                                    static_cast<uint8_t>(movableTypes().size()),
                                                    4,
                                                    3,
                                                    std::size(kCounts),
                                                    3,
                                                    8,
                                                    2,
                                                    2,
                                                    std::size(kAlgorithms),
                                                    3,
                                                    3};
  return all;
}

bool TestCase::legal() const {
  const Collective c = collective();
  if (c == Collective::kBarrier) {
    for (const Factor f : {kType, kCount, kMemory, kOffset}) {
      if (factor[f] != 0) return false;
    }
  }
  if (c == Collective::kSendRecv && ranks() == 1) return false;  // nobody to send to
  if (reduces() ? !isReducible(type(), op()) : factor[kOp] != 0) return false;
  if (!hasRoot(c) && factor[kRoot] != 0) return false;
  if (factor[kRoot] != 0 && ranks() <= factor[kRoot]) return false;  // no such other root
  return placeFits(*this) && algorithmFits(*this);
}

HcclDataType TestCase::type() const {
  return movableTypes()[factor[kType]];
}

uint32_t TestCase::root() const {
  return factor[kRoot] == 0 ? 0 : factor[kRoot] == 1 ? ranks() / 2 : ranks() - 1;
}

bool TestCase::reduces() const {
  const Collective c = collective();
  return c == Collective::kAllReduce || c == Collective::kReduce ||
         c == Collective::kReduceScatter || c == Collective::kReduceScatterV;
}

bool TestCase::hasBlocks() const {
  const Collective c = collective();
  return c != Collective::kAllReduce && c != Collective::kReduce && c != Collective::kBroadcast &&
         c != Collective::kSendRecv && c != Collective::kBarrier;
}

uint64_t TestCase::count() const {
  if (factor[kCount] != kLargeCount) return kCounts[factor[kCount]];
  return kLargeBytes / elementSize(type()) / (hasBlocks() ? ranks() : 1) + 13;
}

const char* TestCase::algo() const {
  return kAlgorithms[factor[kAlgorithm]].config;
}
bool TestCase::strict() const {
  return factor[kAlgorithm] == kStrict;
}

size_t TestCase::misalignment() const {
  return factor[kOffset] == 0 ? 0 : factor[kOffset] == 1 ? elementSize(type()) : 3;
}

std::string TestCase::text() const {
  std::string all = valueName(kCollective, factor[kCollective]);
  for (uint8_t f = 1; f < kFactors; ++f) {
    all += std::string(" ") + kFactorNames[f] + "=" + valueName(static_cast<Factor>(f), factor[f]);
  }
  return all;
}

std::optional<TestCase> TestCase::parse(const std::string& text) {
  TestCase result;
  std::stringstream words(text);
  std::string word;
  while (words >> word) {
    const size_t equals = word.find('=');
    const std::string name = equals == std::string::npos ? "" : word.substr(0, equals);
    const std::string value = equals == std::string::npos ? word : word.substr(equals + 1);
    const auto* const at = std::find(std::begin(kFactorNames), std::end(kFactorNames), name);
    if (at == std::end(kFactorNames)) return std::nullopt;
    const auto f = static_cast<Factor>(at - std::begin(kFactorNames));
    bool known = false;
    for (uint8_t v = 0; v < levels()[f]; ++v) {
      if (valueName(f, v) != value) continue;
      result.factor[f] = v;
      known = true;
    }
    if (!known) return std::nullopt;
  }
  return result;
}

}  // namespace hccl::multirank
