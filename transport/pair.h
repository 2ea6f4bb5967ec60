// Pair: this rank's and one peer's way from nothing to links, on the control thread. The higher
// rank calls, the lower one answers; a lower rank that needs a link first pokes the higher one. The
// channel that the handshake leaves behind carries set-ups, goodbyes and the news of the peer's
// end.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "transport/connection.h"
#include "transport/process_watch.h"
#include "transport/setup.h"

namespace hccl::transport {

class LinksCore;

class Pair final : public SetupHost {
 public:
  Pair(LinksCore* core, ControlThread* thread, uint32_t peer, const Card& card);
  ~Pair() override;

  // A link of this kind is needed; attempts go on until then.
  void want(LinkKind kind, Deadline until);

  // A channel is needed, whether or not any link will be.
  void wantChannel(Deadline until);
  // Nothing more will come from the peer, in good order or not.
  bool isOver() const { return left_ || gone_; }
  void sendContact(const Announcement& own);
  void sendHeartbeat(const HeartbeatBody& body);

  // A caller said hello to this rank as the peer.
  void onHello(const std::shared_ptr<Connection>& connection, const HelloBody& hello);
  // A data connection that claims to belong to the attempt under way.
  void onJoin(const JoinBody& join, UniqueFd fd);

  // The handshake is done and the peer's end of the connection has not been seen.
  bool hasChannel() const { return channel_ != nullptr; }

  // This rank leaves.
  void sayBye();
  // This rank's operations have failed: the peer, when there is a channel, learns why.
  void sendAbort(const Status& cause);

  // SetupHost
  ControlThread* thread() override { return thread_; }
  const PairFacts& facts() const override { return facts_; }
  void send(std::string_view text, std::span<const int> fds) override;
  void finish(std::vector<MadeLink> links) override;
  void fail(std::string reason) override;
  std::function<void(const Status&)> failureReporter() override;

 private:
  // A connection whose handshake is under way.
  struct Handshaking {
    std::shared_ptr<Connection> connection;
    Handshake handshake;
    uint64_t timer = 0;
  };
  using Answers = std::list<Handshaking>;

  // Calling (pair_call.cc).
  bool isWanted() const;
  void call();
  void startCall(Purpose purpose);
  Result<std::shared_ptr<Connection>> dialUnix();
  void onCallMessage(const Message& message);
  void onChallenge(const ChallengeBody& body);
  void onReject(const RejectBody& body);
  void callFailed(const std::string& reason, bool atOnce = false);
  void notReached(const Status& status);
  void retryLater(bool atOnce);
  void dropCall();

  // Answering (pair_call.cc).
  void onAnswerMessage(Answers::iterator it, const Message& message);
  void dropAnswer(Answers::iterator it);

  // The channel and its attempts (pair.cc).
  void adoptChannel(std::shared_ptr<Connection> connection, const Handshake& handshake);
  void onChannelMessage(Message message);
  void onChannelEnd(const Status& status);
  void onProcessEnd();
  void nextAttempt();
  bool tryTransports();
  void onTry(const AttemptHead& head, std::string_view text);
  void onRefuse(const AttemptHead& head, std::string_view reason);
  void onBye();
  void publish();
  void exhausted(LinkKind kind, const std::string& reasons);
  void sendHead(MessageType type, std::string_view text = {}, std::span<const int> fds = {});
  void dropSetup();
  bool isReady(LinkKind kind) const;
  void peerGone(const std::string& why);

  LinksCore* core_;
  ControlThread* thread_;
  uint32_t peer_;
  bool initiator_;
  PairFacts facts_;

  std::array<Deadline, 2> wantedUntil_{Deadline::atNs(0), Deadline::atNs(0)};
  Deadline pokedUntil_ = Deadline::atNs(0);  // the peer asked for a call
  bool unixRefused_ = false;  // the peer is on this host, but its unix socket is not for us
  std::unique_ptr<Handshaking> call_;
  Purpose callPurpose_ = Purpose::kChannel;
  uint64_t retryTimer_ = 0;
  double retrySeconds_ = 0;
  uint64_t refusedSince_ = 0;  // nobody has listened at the peer's address since then
  Answers answers_;

  std::shared_ptr<Connection> channel_;
  std::shared_ptr<ProcessWatch> process_;
  uint64_t processCallback_ = 0;
  bool left_ = false;   // the peer said goodbye
  bool gone_ = false;   // the peer's end was reported
  bool alive_ = false;  // it has sent a heartbeat: it is a member that does not close silently

  // The attempt under way.
  std::unique_ptr<LinkSetup> setup_;
  size_t transport_ = 0;  // index in transportClasses()
  uint32_t attempts_ = 0;
  std::string reasons_;  // why earlier transports failed
  std::vector<MadeLink> made_;
  bool finished_ = false;
  bool committed_ = false;

  std::vector<std::shared_ptr<void>> keep_;
};

}  // namespace hccl::transport
