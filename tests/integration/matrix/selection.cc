#include "tests/integration/matrix/selection.h"

#include <algorithm>
#include <unordered_set>

#include "tests/integration/support/element.h"

namespace hccl::multirank {
namespace {

using Factors = std::vector<Factor>;

// The sets of factors of which every combination is wanted.
std::vector<Factors> wantedSets() {
  std::vector<Factors> sets;
  for (uint8_t a = 0; a < kFactors; ++a) {
    for (uint8_t b = a + 1; b < kFactors; ++b)
      sets.push_back({static_cast<Factor>(a), static_cast<Factor>(b)});
  }
  sets.push_back({kCollective, kType, kOp});
  sets.push_back({kCollective, kRanks, kAlgorithm});
  sets.push_back({kCollective, kCount, kAlgorithm});
  sets.push_back({kCollective, kRanks, kLaunch, kTransport});
  sets.push_back({kCollective, kCount, kLaunch, kTransport});
  sets.push_back({kCollective, kPlace, kMemory, kTransport});
  sets.push_back({kCollective, kRoot, kAlgorithm});
  return sets;
}

uint64_t keyOf(size_t set, const Factors& factors, const TestCase& c) {
  uint64_t key = set;
  for (const Factor f : factors) key = key << 8 | c.factor[f];
  return key;
}

class Selection {
 public:
  std::vector<TestCase> select() {
    for (size_t s = 0; s < sets_.size(); ++s) visit(s, 0, TestCase());
    return std::move(cases_);
  }

 private:
  static constexpr int kTries =
      600;  // random completions, until a combination is held to be illegal
  static constexpr int kCandidates = 24;  // legal ones among which the best is taken

  // Every combination of the values of set s, of which the first `depth` are chosen.
  void visit(size_t s, size_t depth, TestCase c) {
    if (depth == sets_[s].size()) {
      if (!covered_.contains(keyOf(s, sets_[s], c))) add(s, c);
      return;
    }
    const Factor f = sets_[s][depth];
    for (uint8_t v = 0; v < TestCase::levels()[f]; ++v) {
      c.factor[f] = v;
      visit(s, depth + 1, c);
    }
  }

  void add(size_t s, const TestCase& wanted) {
    TestCase best;
    size_t most = 0;
    int legal = 0;
    for (int i = 0; i < kTries && legal < kCandidates; ++i) {
      const TestCase candidate = complete(s, wanted);
      if (!candidate.legal()) continue;
      ++legal;
      size_t fresh = 0;
      for (size_t k = 0; k < sets_.size(); ++k) {
        fresh += covered_.contains(keyOf(k, sets_[k], candidate)) ? 0 : 1;
      }
      if (fresh <= most) continue;
      most = fresh;
      best = candidate;
    }
    if (most == 0) return;
    for (size_t k = 0; k < sets_.size(); ++k) covered_.insert(keyOf(k, sets_[k], best));
    cases_.push_back(best);
  }

  TestCase complete(size_t s, TestCase c) {
    for (uint8_t f = 0; f < kFactors; ++f) {
      if (std::find(sets_[s].begin(), sets_[s].end(), f) != sets_[s].end()) continue;
      // Factors that many collectives do not have are mostly left alone.
      const bool rare = f == kOp || f == kRoot || f == kPlace || f == kAlgorithm;
      const uint64_t dice = next();
      c.factor[f] =
          rare && dice % 3 != 0 ? 0 : static_cast<uint8_t>(next() % TestCase::levels()[f]);
    }
    return c;
  }

  uint64_t next() { return mix(++state_); }

  std::vector<Factors> sets_ = wantedSets();
  std::unordered_set<uint64_t> covered_;
  std::vector<TestCase> cases_;
  uint64_t state_ = 0x4843434c;
};

}  // namespace

std::vector<TestCase> pairwiseCases() {
  return Selection().select();
}

void forEachCase(uint32_t ranks, Launch launch, uint8_t transport,
                 const std::function<void(const TestCase&)>& visit) {
  TestCase c;
  c.factor[kRanks] = static_cast<uint8_t>(ranks - 1);
  c.factor[kLaunch] = static_cast<uint8_t>(launch);
  c.factor[kTransport] = transport;
  const std::vector<Factor> free = {kCollective, kType,      kOp,     kPlace, kCount,
                                    kRoot,       kAlgorithm, kMemory, kOffset};
  // An odometer over the free factors.
  for (;;) {
    if (c.legal()) visit(c);
    size_t i = 0;
    while (i < free.size() && ++c.factor[free[i]] == TestCase::levels()[free[i]])
      c.factor[free[i++]] = 0;
    if (i == free.size()) return;
  }
}

}  // namespace hccl::multirank
