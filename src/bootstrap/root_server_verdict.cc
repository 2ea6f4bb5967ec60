// What a RootServer makes of its members' messages.
#include <fmt/core.h>

#include <algorithm>

#include "src/base/log.h"
#include "src/bootstrap/root_server.h"
#include "src/fault/ei_errors.h"

namespace hccl::bootstrap {
namespace {

constexpr double kDeliverySeconds = 10;
constexpr double kMergeExtraSeconds = 20;
constexpr double kDisputeSeconds = 0.3;

std::shared_ptr<const SharedBody> emptyBody() {
  static const auto body = std::make_shared<const SharedBody>(std::string());
  return body;
}

}  // namespace

void RootServer::welcome(Id id) {
  RootConnection& connection = *connections_.at(id);
  if (connection.version() != options_.version) {
    const std::string peer = connection.peer().toString();
    Verdict verdict;
    verdict.status = eiError(Ei::kVersion, HCCL_E_INTERNAL,
                             {"HCCL bootstrap", fmt::format("(root) is {}", options_.version),
                              fmt::format("({}) is {}", peer, connection.version())});
    close(id);
    ++answered_;  // the agent finds the difference itself
    if (verdict_ == nullptr) decide(verdict);
    return;
  }
  connection.send(FrameType::kWelcome, emptyBody());
  flushTo(id);
}

void RootServer::takeFrame(Id id) {
  RootConnection& connection = *connections_.at(id);
  if (connection.frameType() == FrameType::kJoin && !connection.hasJoined) return takeJoin(id);
  const bool isMerged = connection.frameType() == FrameType::kMerged && connection.hasJoined &&
                        isMerging_ && connection.rank == gathering_.leader();
  if (!isMerged) return onLost(id);
  if (verdict_ != nullptr) return;
  Result<Verdict> verdict = decodeVerdict(connection.frameBody());
  if (!verdict) {
    Verdict broken;
    broken.status = verdict.status();
    return decide(broken);
  }
  decide(*verdict);
}

void RootServer::takeJoin(Id id) {
  RootConnection& connection = *connections_.at(id);
  Result<JoinRecord> record = decodeJoin(connection.frameBody());
  connection.hasJoined = true;
  pending_.erase(id);
  if (record) {
    connection.rank = record->rank;
    expectedAnswers_ = std::max(expectedAnswers_, record->rankCount);
  }
  if (verdict_ != nullptr) return answer(id);
  if (!dispute_.isOk()) {
    if (record) gathering_.claim(*record);
    if (gathering_.allClaimed()) settleDispute();
    return;
  }
  const Status status = record ? gathering_.add(*record) : record.status();
  if (!status.isOk() && gathering_.isDisputed()) {
    dispute_ = status;
    disputeDeadline_ = Deadline::after(kDisputeSeconds);
    if (gathering_.allClaimed()) settleDispute();
    return;
  }
  if (!status.isOk()) {
    HCCL_ERROR("[InitGroupStage][RanktableDetect]{} {}", errNoText(status.code()), status.text());
    Verdict verdict;
    verdict.status = status;
    return decide(verdict);
  }
  advance();
}

void RootServer::settleDispute() {
  Verdict verdict;
  verdict.status = gathering_.verdict(dispute_);
  disputeDeadline_ = Deadline::never();
  HCCL_ERROR("[InitGroupStage][RanktableDetect]{} {}", errNoText(verdict.status.code()),
             verdict.status.text());
  decide(verdict);
}

void RootServer::advance() {
  if (!gathering_.isComplete() || isMerging_) return;
  if (!gathering_.isBranch()) {
    Verdict verdict;
    verdict.ranks = gathering_.ranks();
    verdict.connected = verdict.rankCount = gathering_.rankCount();
    return decide(verdict);
  }
  isMerging_ = true;
  deadline_ = Deadline::after(deadline_.remainingSeconds() + kMergeExtraSeconds);
  Result<std::string> list = encodeRankList(gathering_.ranks());
  if (!list) {
    Verdict verdict;
    verdict.status = list.status();
    return decide(verdict);
  }
  const auto body = std::make_shared<const SharedBody>(std::move(*list));
  for (const auto& [id, connection] : connections_) {
    if (!connection->hasJoined || connection->rank != gathering_.leader()) continue;
    connection->send(FrameType::kMerge, body);
    return flushTo(id);
  }
}

void RootServer::onTimeout() {
  const double seconds = options_.timeoutSeconds;
  if (isMerging_) {
    Verdict verdict;
    verdict.status =
        eiError(Ei::kRankTableDetect, HCCL_E_TIMEOUT,
                {fmt::format("the first root did not answer rank {} in time", gathering_.leader())},
                static_cast<int>(gathering_.leader()));
    return decide(verdict);
  }
  for (const std::string& line : gathering_.timeoutLines(seconds)) HCCL_ERROR("{}", line);
  if (!gathering_.hasStarted()) return stop();
  deadline_ = Deadline::after(options_.lingerSeconds);  // for ranks that come late
  decide(gathering_.timeoutVerdict());
}

void RootServer::onLost(Id id) {
  const RootConnection& connection = *connections_.at(id);
  const bool isMissed = connection.hasJoined && verdict_ == nullptr && dispute_.isOk();
  const uint32_t rank = connection.rank;
  const std::string peer = connection.peer().toString();
  close(id);
  if (!isMissed) return;
  ++answered_;  // nobody is left there to be told
  Verdict verdict;
  verdict.status =
      eiError(Ei::kRankTableDetect, HCCL_E_TCP_TRANSFER,
              {fmt::format("rank {} ({}) left before all ranks had joined: its process has ended "
                           "or gave up",
                           rank, peer)},
              static_cast<int>(rank));
  HCCL_ERROR("[InitGroupStage][RanktableDetect]{} {}", errNoText(verdict.status.code()),
             verdict.status.text());
  decide(verdict);
}

void RootServer::decide(const Verdict& verdict) {
  failed_ = !verdict.status.isOk();
  Result<std::string> text = encodeVerdict(verdict);
  if (!text) {
    failed_ = true;
    Verdict broken;
    broken.status = text.status();
    text = encodeVerdict(broken);
  }
  verdict_ = std::make_shared<const SharedBody>(text ? std::move(*text) : std::string());
  const double linger =
      failed_ ? std::min(options_.lingerSeconds, deadline_.remainingSeconds()) : 0;
  verdictDeadline_ = Deadline::after(std::max(linger, kDeliverySeconds));
  if (linger > 0) {
    lingerDeadline_ = Deadline::after(linger);
    lingering_.store(true, std::memory_order_release);
  } else {
    // Before anyone knows: a next communicator on this port must not meet this server.
    stopListening();
    while (!pending_.empty()) close(*pending_.begin());
  }
  std::vector<Id> joined;
  for (const auto& [id, connection] : connections_) {
    if (connection->hasJoined) joined.push_back(id);
  }
  for (const Id id : joined) {
    if (connections_.count(id) != 0) answer(id);
  }
}

void RootServer::answer(Id id) {
  RootConnection& connection = *connections_.at(id);
  connection.send(FrameType::kVerdict, verdict_);
  connection.isAnswered = true;
  ++answered_;
  flushTo(id);
}

}  // namespace hccl::bootstrap
