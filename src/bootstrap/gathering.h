// Gathering: which ranks a root has heard of, and what it makes of them. No sockets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/bootstrap/records.h"

namespace hccl::bootstrap {

class Gathering {
 public:
  // Takes in what an agent says. Errors (all final for the communicator): rank twice, rank out of
  // range, differing counts: EI0015; a fact of `agreed` differs: EI0005; a leader's own failure.
  Status add(const JoinRecord& record);

  // add() failed because two ranks disagree; who of them is at fault, the claims of the others
  // tell. claim() takes in one more; verdict() names the rank that fewer agree with.
  bool isDisputed() const { return disputedBy_.has_value(); }
  void claim(const JoinRecord& record);
  bool allClaimed() const { return claims_.size() >= rankCount_; }
  Status verdict(const Status& dispute) const;

  bool hasStarted() const { return started_; }
  bool isComplete() const { return started_ && ranks_.size() == wantedCount(); }
  uint32_t rankCount() const { return rankCount_; }
  // The root of a group other than the first: its result goes to the first root.
  bool isBranch() const { return rootIndex_ != 0; }
  // The rank that carries a branch's result: the lowest of its group.
  uint32_t leader() const { return rootIndex_; }

  std::vector<uint32_t> connected() const;  // ascending
  std::vector<uint32_t> missing() const;
  std::vector<RankInfo> ranks() const;  // sorted by rank

  // After the deadline: the verdict for those who came, and the lines for the log.
  Verdict timeoutVerdict() const;
  std::vector<std::string> timeoutLines(double timeoutSeconds) const;

 private:
  // Whether this root waits for `rank`.
  bool wants(uint32_t rank) const { return !isBranch() || rank % rootCount_ == rootIndex_; }
  size_t wantedCount() const;
  Status checkCounts(const JoinRecord& record);
  Status checkRanks(const JoinRecord& record) const;
  Status checkAgreed(const JoinRecord& record);

  bool started_ = false;
  uint32_t rankCount_ = 0, rootCount_ = 1, rootIndex_ = 0;
  uint32_t firstRank_ = 0;  // who set the counts and the facts
  std::map<std::string, std::string> agreed_;
  std::map<uint32_t, RankInfo> ranks_;
  std::map<uint32_t, std::string> claims_;  // what each rank says that all must say alike
  std::optional<uint32_t> disputedBy_;
};

// "1,3,5" cut after some hundred numbers.
std::string rankListText(const std::vector<uint32_t>& ranks);

}  // namespace hccl::bootstrap
