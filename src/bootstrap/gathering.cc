#include "src/bootstrap/gathering.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/fault/ei_errors.h"

namespace hccl::bootstrap {
namespace {

constexpr size_t kRanksPerLine = 50;
constexpr size_t kMaxListed = 256;
constexpr uint32_t kMaxRanks = 1u << 20;

Status detectError(const std::string& reason, uint32_t culprit, HcclResult code = HCCL_E_PARA) {
  return eiError(Ei::kRankTableDetect, code, {reason}, static_cast<int>(culprit));
}

std::string orMissing(const std::map<std::string, std::string>& facts, const std::string& key) {
  const auto it = facts.find(key);
  return it == facts.end() ? "(not set)" : it->second;
}

}  // namespace

std::string rankListText(const std::vector<uint32_t>& ranks) {
  const size_t shown = std::min(ranks.size(), kMaxListed);
  std::string text = fmt::format("{}", fmt::join(ranks.begin(), ranks.begin() + shown, ","));
  if (shown < ranks.size()) text += fmt::format(",... ({} ranks)", ranks.size());
  return text;
}

void Gathering::claim(const JoinRecord& record) {
  claims_[record.rank] = fmt::format("{} {} {} {}", record.rankCount, record.rootCount,
                                     record.rootIndex, record.agreed);
}

Status Gathering::verdict(const Status& dispute) const {
  const std::string& first = claims_.at(firstRank_);
  const std::string& other = claims_.at(*disputedBy_);
  size_t withFirst = 0, withOther = 0;
  for (const auto& [rank, text] : claims_) {
    withFirst += text == first ? 1 : 0;
    withOther += text == other ? 1 : 0;
  }
  // With one claim each, the rank that came later is named.
  const uint32_t culprit = withOther > withFirst ? firstRank_ : *disputedBy_;
  return Status(dispute.code(), dispute.text(), dispute.eiCode(), static_cast<int>(culprit));
}

Status Gathering::add(const JoinRecord& record) {
  claim(record);
  HCCL_RETURN_IF_ERROR(checkCounts(record));
  HCCL_RETURN_IF_ERROR(checkRanks(record));
  if (!record.failure.isOk()) return record.failure;
  HCCL_RETURN_IF_ERROR(checkAgreed(record));
  for (const RankInfo& info : record.ranks) ranks_[info.rank] = info;
  return Status::ok();
}

Status Gathering::checkCounts(const JoinRecord& record) {
  const bool isSound = record.rankCount > 0 && record.rankCount <= kMaxRanks &&
                       record.rootCount > 0 && record.rootCount <= record.rankCount &&
                       record.rootIndex < record.rootCount;
  if (!isSound) {
    return detectError(fmt::format("rank {} joins with {} ranks and root {} of {}", record.rank,
                                   record.rankCount, record.rootIndex, record.rootCount),
                       record.rank);
  }
  if (!started_) {
    started_ = true;
    rankCount_ = record.rankCount;
    rootCount_ = record.rootCount;
    rootIndex_ = record.rootIndex;
    firstRank_ = record.rank;
    // An empty result for what has no facts.
    if (auto facts = decodeAgreed(record.agreed)) agreed_ = std::move(*facts);
  }
  if (record.rankCount != rankCount_) {
    disputedBy_ = record.rank;
    return detectError(fmt::format("rank {} joins with {} ranks, but rank {} joins with {} ranks",
                                   record.rank, record.rankCount, firstRank_, rankCount_),
                       record.rank);
  }
  if (record.rootCount != rootCount_ || record.rootIndex != rootIndex_) {
    return detectError(
        fmt::format("rank {} takes this for root {} of {}, rank {} for root {} of {}", record.rank,
                    record.rootIndex, record.rootCount, firstRank_, rootIndex_, rootCount_),
        record.rank);
  }
  return Status::ok();
}

Status Gathering::checkRanks(const JoinRecord& record) const {
  if (record.rank >= rankCount_) {
    return detectError(
        fmt::format("rank {} is not below the number of ranks {}", record.rank, rankCount_),
        record.rank);
  }
  std::set<uint32_t> own;
  for (const RankInfo& info : record.ranks) {
    const uint32_t group = record.rank % rootCount_;
    const bool isAllowed = info.rank < rankCount_ && wants(info.rank) &&
                           info.rank % rootCount_ == group && own.insert(info.rank).second;
    if (!isAllowed) {
      return detectError(fmt::format("rank {} may not speak for rank {}", record.rank, info.rank),
                         record.rank);
    }
    if (ranks_.count(info.rank) != 0) {
      return detectError(fmt::format("agent[{:016}] has been connected: rank {} joined twice",
                                     info.rank, info.rank),
                         info.rank);
    }
  }
  if (own.count(record.rank) == 0 && record.failure.isOk()) {
    return detectError(fmt::format("rank {} does not describe itself", record.rank), record.rank);
  }
  return Status::ok();
}

Status Gathering::checkAgreed(const JoinRecord& record) {
  HCCL_ASSIGN_OR_RETURN(const auto facts, decodeAgreed(record.agreed));
  std::set<std::string> keys;
  for (const auto& fact : facts) keys.insert(fact.first);
  for (const auto& fact : agreed_) keys.insert(fact.first);
  for (const std::string& key : keys) {
    const std::string first = orMissing(agreed_, key);
    const std::string other = orMissing(facts, key);
    if (first == other) continue;
    disputedBy_ = record.rank;
    return eiError(Ei::kInconsistent, HCCL_E_PARA,
                   {"CommInit", record.group, key, fmt::format("{} (rank {})", first, firstRank_),
                    fmt::format("{} (rank {})", other, record.rank)},
                   static_cast<int>(record.rank));
  }
  return Status::ok();
}

size_t Gathering::wantedCount() const {
  if (!isBranch()) return rankCount_;
  return (rankCount_ - rootIndex_ + rootCount_ - 1) / rootCount_;
}

std::vector<uint32_t> Gathering::connected() const {
  std::vector<uint32_t> list;
  for (const auto& entry : ranks_) list.push_back(entry.first);
  return list;
}

std::vector<uint32_t> Gathering::missing() const {
  std::vector<uint32_t> list;
  for (uint32_t rank = 0; rank < rankCount_; ++rank) {
    if (wants(rank) && ranks_.count(rank) == 0) list.push_back(rank);
  }
  return list;
}

std::vector<RankInfo> Gathering::ranks() const {
  std::vector<RankInfo> list;
  for (const auto& entry : ranks_) list.push_back(entry.second);
  return list;
}

Verdict Gathering::timeoutVerdict() const {
  const std::string list = rankListText(missing());
  Verdict verdict;
  verdict.status = detectError(
      fmt::format("No rank in the communicator can connect to the root node within the timeout "
                  "period. List of unconnected ranks: {}",
                  list),
      missing().empty() ? 0 : missing().front(), HCCL_E_TIMEOUT);
  verdict.faultInfo = fmt::format("Failed to connect agent[{},]", list);
  verdict.connected = static_cast<uint32_t>(ranks_.size());
  verdict.rankCount = rankCount_;
  return verdict;
}

std::vector<std::string> Gathering::timeoutLines(double timeoutSeconds) const {
  const std::vector<uint32_t> list = connected();
  const size_t lineCount = (list.size() + kRanksPerLine - 1) / kRanksPerLine;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("topo exchange server get socket timeout! timeout[{} s]",
                              static_cast<uint64_t>(timeoutSeconds)));
  lines.push_back(fmt::format(
      "[InitGroupStage][DisplayConnectedRank]total connected num is [{}],line num is [{}]",
      list.size(), lineCount));
  lines.push_back(fmt::format("need connect rankNum is [{}]", rankCount_));
  for (size_t line = 0; line < lineCount; ++line) {
    std::string text = fmt::format("connected rankinfo[LINE {}]: ", line);
    const size_t end = std::min(list.size(), (line + 1) * kRanksPerLine);
    for (size_t i = line * kRanksPerLine; i < end; ++i) {
      text += fmt::format("[{:016}]{}", list[i], i + 1 < end ? "," : ";");
    }
    lines.push_back(std::move(text));
  }
  lines.push_back(fmt::format(
      "[HCCL_TRACE] succ sockets is [{}], waiting sockets is [{}], wait sockets rankid: "
      "[{}]",
      list.size(), missing().size(), rankListText(missing())));
  return lines;
}

}  // namespace hccl::bootstrap
