// RootServer: one thread that gathers the ranks of one new communicator, with a poll loop and
// non-blocking sockets. Strangers (no proof of the secret) are bounded in number and in time.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "src/base/clock.h"
#include "src/base/env_types.h"
#include "src/base/fd.h"
#include "src/base/ip_address.h"
#include "src/base/socket.h"
#include "src/base/status.h"
#include "src/bootstrap/gathering.h"
#include "src/bootstrap/root_connection.h"

namespace hccl::bootstrap {

struct RootServerOptions {
  UniqueFd listener;
  SocketAddress address;
  Digest secret{};
  uint32_t version = 0;
  double timeoutSeconds = 120;
  double lingerSeconds = 0;            // after a failure: how long late ranks still get the cause
  std::optional<Whitelist> whitelist;  // unset: all hosts may connect
};

class RootServer {
 public:
  // Starts the thread (all signals blocked).
  static Result<std::shared_ptr<RootServer>> start(RootServerOptions options);
  // Ends the thread; a verdict under way gets a moment to leave.
  ~RootServer();
  RootServer(const RootServer&) = delete;
  RootServer& operator=(const RootServer&) = delete;

  bool isFinished() const { return finished_.load(std::memory_order_acquire); }
  // The communicator failed; only late ranks are still answered.
  bool isLingering() const { return lingering_.load(std::memory_order_acquire); }
  const SocketAddress& address() const { return options_.address; }
  void stop();

  // For the registry's fork handlers: the descriptors stay as they are in between.
  void lockDescriptors() { descriptorsMutex_.lock(); }
  void unlockDescriptors() { descriptorsMutex_.unlock(); }
  void closeDescriptorsInChild();

 private:
  using Id = uint64_t;

  explicit RootServer(RootServerOptions options);
  Status prepare();
  void run();
  void handle(Id id, uint32_t events);
  int waitMs() const;
  bool isDone() const;

  // Connections.
  void acceptAll();
  Result<AcceptedSocket> acceptOne();
  bool admit(AcceptedSocket accepted);
  void forget(int fd);
  bool makeRoom();
  void pauseAccepting(uint64_t untilNs);
  void resumeAccepting();
  void stopListening();
  void dropOverdue();
  void close(Id id);
  void watch(Id id);
  void readFrom(Id id);
  void flushTo(Id id);

  // The rendezvous.
  void welcome(Id id);
  void takeFrame(Id id);
  void takeJoin(Id id);
  void advance();
  void onTimeout();
  void settleDispute();
  void onLost(Id id);
  void decide(const Verdict& verdict);
  void answer(Id id);

  RootServerOptions options_;
  Deadline deadline_;
  UniqueFd epoll_, stopEvent_;
  std::map<Id, std::unique_ptr<RootConnection>> connections_;
  std::set<Id> pending_;  // not joined yet, oldest first
  Id nextId_;
  uint64_t acceptPausedUntilNs_ = 0;
  unsigned rejected_ = 0;

  Gathering gathering_;
  bool isMerging_ = false;
  Status dispute_;  // two ranks disagree: the others are heard until disputeDeadline_
  Deadline disputeDeadline_ = Deadline::never();
  std::shared_ptr<const SharedBody> verdict_;
  bool failed_ = false;
  size_t answered_ = 0;
  uint32_t expectedAnswers_ = 0;                  // 0: nobody has told the number of ranks
  Deadline verdictDeadline_ = Deadline::never();  // to deliver it
  Deadline lingerDeadline_ = Deadline::never();   // for ranks that come late

  std::atomic<bool> finished_{false}, lingering_{false}, stopping_{false};
  std::mutex descriptorsMutex_;
  std::set<int> descriptors_;
  std::thread thread_;
};

}  // namespace hccl::bootstrap
