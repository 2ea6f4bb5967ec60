#include "src/bootstrap/agent.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <cmath>

#include "src/base/log.h"
#include "src/base/socket.h"
#include "src/fault/ei_errors.h"

namespace hccl::bootstrap {
namespace {

constexpr double kFirstPauseSeconds = 0.005;
constexpr double kLongestPauseSeconds = 0.2;

enum class Failure { kNone, kUnreachable, kStranger, kVersion };

struct Attempt {
  Failure failure = Failure::kUnreachable;
  Status status;
  std::optional<Agent> agent;
};

Attempt failed(Failure failure, Status status) {
  Attempt attempt;
  attempt.failure = failure;
  attempt.status = std::move(status);
  return attempt;
}

// One connection and both proofs.
Attempt tryRoot(const SocketAddress& address, const RootTarget& target, Deadline deadline) {
  Result<UniqueFd> fd = connectTcp(address, deadline);
  if (!fd) return failed(Failure::kUnreachable, fd.status());
  (void)setNoDelay(fd->get());
  Result<Digest> nonce = randomDigest();
  if (!nonce) return failed(Failure::kUnreachable, nonce.status());
  const std::string peer = address.toString();
  const std::string hello = encodeHello({target.version, *nonce});
  Status status = sendAll(fd->get(), hello.data(), hello.size(), deadline, peer);
  std::string answer(kHelloBytes + kProofBytes, '\0');
  if (status.isOk()) status = recvAll(fd->get(), answer.data(), answer.size(), deadline, peer);
  if (!status.isOk()) return failed(Failure::kUnreachable, status);

  const std::string_view serverHello = std::string_view(answer).substr(0, kHelloBytes);
  const std::optional<Hello> server = decodeHello(serverHello);
  Session session(target.secret, hello, serverHello);
  if (!server ||
      !isEqual(view(session.serverProof()), std::string_view(answer).substr(kHelloBytes))) {
    return failed(Failure::kStranger,
                  Status(HCCL_E_UNAVAIL, fmt::format("the program at {} is not the root of this "
                                                     "communicator",
                                                     peer)));
  }
  const std::string proof(view(session.agentProof()));
  status = sendAll(fd->get(), proof.data(), proof.size(), deadline, peer);
  if (server->version != target.version) {
    return failed(Failure::kVersion,
                  eiError(Ei::kVersion, HCCL_E_INTERNAL,
                          {"HCCL bootstrap", fmt::format("is {}", target.version),
                           fmt::format("(root) is {}", server->version)}));
  }
  Agent agent(std::move(*fd), address, session);
  if (status.isOk()) {
    Result<Agent::Frame> welcome = agent.receive(deadline);
    status = welcome ? Status::ok() : welcome.status();
    if (welcome && welcome->type != FrameType::kWelcome) {
      status = Status(HCCL_E_INTERNAL, fmt::format("{} sent no welcome", peer));
    }
  }
  if (!status.isOk()) return failed(Failure::kUnreachable, status);
  Attempt attempt;
  attempt.failure = Failure::kNone;
  attempt.agent.emplace(std::move(agent));
  return attempt;
}

void pause(double seconds) {
  const Deadline until = Deadline::after(seconds);
  while (!until.expired()) ::poll(nullptr, 0, until.remainingMs());
}

Status unreachable(const RootTarget& target, double seconds, const Status& last) {
  const SocketAddress& root = target.addresses.front();
  HCCL_ERROR(
      "[InitGroupStage][RanktableDetect] topo exchange agent get socket timeout! timeout[{}] "
      "(last attempt: {})",
      std::lround(seconds), last.text());
  HCCL_ERROR(
      "[InitGroupStage][RanktableDetect] 1. check the network between this host and {} and "
      "the interface that HCCL_SOCKET_IFNAME or HCCL_IF_IP selects",
      root.ip.toString());
  HCCL_ERROR(
      "[InitGroupStage][RanktableDetect] 2. check whether the root's process has reported "
      "another error or has ended");
  HCCL_ERROR("[InitGroupStage][RanktableDetect] TopoExchangeAgent: connect server[{} : {}] failed",
             root.ip.toString(), root.port);
  const std::string reason = fmt::format(
      "1. The current node {} is disconnected from the host of the root node {}. 2. the timeout "
      "set "
      "by the HCCL_CONNECT_TIMEOUT environment variable is too short",
      target.localAddress, root.ip.toString());
  return eiError(Ei::kRankTableDetect, HCCL_E_TIMEOUT, {reason});
}

Status occupied(const SocketAddress& address) {
  HCCL_ERROR(
      "[InitGroupStage][RanktableDetect] {} answers, but does not know this communicator: "
      "another job or another program uses the port",
      address.toString());
  return eiError(
      Ei::kHostListen, HCCL_E_UNAVAIL,
      {fmt::format("The IP address {} and port {} have already been bound by another job "
                   "or program.",
                   address.ip.toString(), address.port)});
}

Status rootLost(const SocketAddress& root, const Status& cause) {
  if (cause.code() == HCCL_E_TIMEOUT) {
    return eiError(
        Ei::kRankTableDetect, HCCL_E_TIMEOUT,
        {fmt::format("Receiving message from the root node timed out. Check whether node "
                     "{} reports an error",
                     root.ip.toString())});
  }
  return eiError(
      Ei::kRankTableDetect, HCCL_E_TCP_TRANSFER,
      {fmt::format("The connection to the root node {} broke during the rendezvous ({}). "
                   "Check whether the root's process has ended",
                   root.toString(), cause.text())});
}

void logFault(const Verdict& verdict) {
  if (verdict.faultInfo.empty()) return;
  HCCL_ERROR(
      "[InitGroupStage][RanktableDetect] TopoDetect ERROR occur fault_type[1], "
      "fault_info[\"{}\"]",
      verdict.faultInfo);
  HCCL_ERROR(
      "[InitGroupStage][RanktableDetect] rank num[{}]is different with rank list size[{}] in "
      "total topo rank info.",
      verdict.rankCount, verdict.connected);
}

Result<std::vector<RankInfo>> judge(Result<Verdict> verdict) {
  if (!verdict) return verdict.status();
  logFault(*verdict);
  if (!verdict->status.isOk()) return verdict->status;
  return std::move(verdict->ranks);
}

// The leader's errand to the first root; its result is what the group will hear.
Verdict mergeGroup(const JoinRecord& own, const std::string& listBody, const MergePlan& merge,
                   Deadline verdictDeadline) {
  Verdict verdict;
  Result<std::vector<RankInfo>> list = decodeRankList(listBody);
  if (!list) {
    verdict.status = list.status();
    return verdict;
  }
  JoinRecord record = own;
  record.rootIndex = 0;
  record.ranks = std::move(*list);
  Result<std::vector<RankInfo>> all =
      joinThrough(merge.first, record, merge.deadline, verdictDeadline);
  verdict.status = all.status();
  if (all) verdict.ranks = std::move(*all);
  verdict.connected = verdict.rankCount = own.rankCount;
  return verdict;
}

// Tells the first root that this group will never come.
void reportGroupFailure(const JoinRecord& own, const Status& failure, const MergePlan& merge,
                        Deadline verdictDeadline) {
  JoinRecord record = own;
  record.rootIndex = 0;
  record.ranks.clear();
  record.failure = failure;
  (void)joinThrough(merge.first, record, merge.deadline, verdictDeadline);
}

}  // namespace

Status Agent::send(FrameType type, const std::string& body, Deadline deadline) {
  const std::string header = session_.sealFrame(false, type, body.size(), sha256(body));
  const std::string peer = peer_.toString();
  HCCL_RETURN_IF_ERROR(sendAll(fd_.get(), header.data(), header.size(), deadline, peer));
  return sendAll(fd_.get(), body.data(), body.size(), deadline, peer);
}

Result<Agent::Frame> Agent::receive(Deadline deadline) {
  const std::string peer = peer_.toString();
  std::string bytes(kFrameHeaderBytes, '\0');
  HCCL_RETURN_IF_ERROR(recvAll(fd_.get(), bytes.data(), bytes.size(), deadline, peer));
  const std::optional<FrameHeader> header = Session::parseHeader(bytes);
  if (!header) return Status(HCCL_E_INTERNAL, fmt::format("{} sent a broken header", peer));
  Frame frame{header->type, {}};
  // In pieces: memory is spent as the bytes come, not as the header promises.
  constexpr size_t kPiece = 1u << 20;
  while (frame.body.size() < header->length) {
    const size_t begin = frame.body.size();
    const size_t piece = std::min<size_t>(header->length - begin, kPiece);
    frame.body.resize(begin + piece);
    HCCL_RETURN_IF_ERROR(recvAll(fd_.get(), frame.body.data() + begin, piece, deadline, peer));
  }
  if (!session_.openFrame(true, *header, frame.body)) {
    return Status(HCCL_E_INTERNAL, fmt::format("a message of {} was changed on its way", peer));
  }
  return frame;
}

Result<Agent> reachRoot(const RootTarget& target, Deadline deadline) {
  if (target.addresses.empty()) return Status(HCCL_E_PARA, "there is no address of the root");
  const double seconds = deadline.remainingSeconds();
  Deadline strangerDeadline = Deadline::never();
  double pauseSeconds = kFirstPauseSeconds;
  for (;;) {
    Status last;
    size_t strangers = 0;
    for (const SocketAddress& address : target.addresses) {
      const Deadline limit = Deadline::after(target.attemptSeconds).earlier(deadline);
      Attempt attempt = tryRoot(address, target, limit);
      if (attempt.agent) return std::move(*attempt.agent);
      if (attempt.failure == Failure::kVersion) return attempt.status;
      if (attempt.failure == Failure::kStranger) ++strangers;
      last = attempt.status;
      if (deadline.expired()) break;
    }
    // A last attempt that the deadline cut short says nothing new.
    const bool wasCut = deadline.expired() && last.code() == HCCL_E_TIMEOUT;
    if (strangers == target.addresses.size()) {
      strangerDeadline = strangerDeadline.earlier(Deadline::after(target.strangerSeconds));
    } else if (!wasCut) {
      strangerDeadline = Deadline::never();
    }
    if (strangerDeadline.expired() || (deadline.expired() && !strangerDeadline.isNever())) {
      return occupied(target.addresses.front());
    }
    if (deadline.expired()) return unreachable(target, seconds, last);
    pause(std::min(pauseSeconds, deadline.remainingSeconds()));
    pauseSeconds = std::min(pauseSeconds * 2, kLongestPauseSeconds);
  }
}

Result<std::vector<RankInfo>> joinThrough(const RootTarget& target, const JoinRecord& record,
                                          Deadline deadline, Deadline verdictDeadline,
                                          const MergePlan* merge) {
  HCCL_ASSIGN_OR_RETURN(const std::string body, encodeJoin(record));
  HCCL_ASSIGN_OR_RETURN(Agent agent, reachRoot(target, deadline));
  Status status = agent.send(FrameType::kJoin, body, verdictDeadline);
  bool hasMerged = false;
  while (status.isOk()) {
    Result<Agent::Frame> frame = agent.receive(verdictDeadline);
    if (!frame) {
      status = frame.status();
      break;
    }
    if (frame->type == FrameType::kVerdict) {
      Result<std::vector<RankInfo>> ranks = judge(decodeVerdict(frame->body));
      if (!ranks && merge != nullptr && !hasMerged) {
        reportGroupFailure(record, ranks.status(), *merge, verdictDeadline);
      }
      return ranks;
    }
    if (frame->type != FrameType::kMerge || merge == nullptr) {
      return Status(HCCL_E_INTERNAL, "the root sent a message that was not due");
    }
    hasMerged = true;
    HCCL_ASSIGN_OR_RETURN(const std::string merged,
                          encodeVerdict(mergeGroup(record, frame->body, *merge, verdictDeadline)));
    status = agent.send(FrameType::kMerged, merged, verdictDeadline);
  }
  return rootLost(agent.peer(), status);
}

}  // namespace hccl::bootstrap
